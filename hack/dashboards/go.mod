module github.com/acme/platform-operator/hack/dashboards

go 1.26.7

require (
	github.com/grafana/grafana-foundation-sdk/go v0.0.18
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.2 // indirect
