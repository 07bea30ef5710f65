# The image as container engines build it; `make image` builds the same without one.
FROM golang:1.26 AS builder
ARG TARGETOS=linux
ARG TARGETARCH
ARG VERSION=0.0.0
WORKDIR /workspace
# Modules first: they change less often than the sources and stay in the engine's cache.
COPY go.mod go.sum ./
RUN go mod download
COPY api/ api/
COPY cmd/ cmd/
COPY config/policy/ config/policy/
COPY internal/ internal/
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=v${VERSION}" -o /manager ./cmd && \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -buildvcs=false -ldflags "-s -w" -o /database-agent ./cmd/database-agent && \
    CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -buildvcs=false -ldflags "-s -w" -o /views ./cmd/views
COPY hack/image/ hack/image/
RUN cd hack/image && go run . --binary /manager --version "v${VERSION}" --sbom /sbom

# Nothing but the programs and the list of what they are made of: no shell, no package that could age. Time
# zones and the public certificate authorities are in the binary.
FROM scratch
ARG VERSION=0.0.0
LABEL org.opencontainers.image.title="platform-operator" \
      org.opencontainers.image.description="Acme Platform Operator: gives teams what they need from a platform without giving them the platform" \
      org.opencontainers.image.vendor="The Acme Platform Operator Authors" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="v${VERSION}"
COPY --from=builder /manager /manager
COPY --from=builder /database-agent /database-agent
COPY --from=builder /views /views
COPY --from=builder /sbom-linux-*.spdx.json /sbom/platform-operator.spdx.json
USER 65532:65532
ENTRYPOINT ["/manager"]
