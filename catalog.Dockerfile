# The catalog, as OLM v0 (with grpcPodConfig.extractContent) and OLM v1 take it out of an image and serve it
# themselves. No program is in it that could age.
FROM scratch
LABEL operators.operatorframework.io.index.configs.v1=/configs
COPY catalog/acme-platform-operator /configs/acme-platform-operator/
