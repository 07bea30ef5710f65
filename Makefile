# Run `make` to see what there is.
#
# Needed: Go, git, and GNU make 4.3 or later; the tests also need slapd, PostgreSQL and MariaDB. Every
# other tool is pinned as a Go module under tools/ and built into bin/ when it is first needed. Nothing
# but Go modules is downloaded.

VERSION ?= 0.1.0# version of the operator
IMG ?= platform-operator:v$(VERSION)# name of the image
REGISTRY ?= registry.acme.com/platform# where the images are that the bundle and the catalog name
ARCH ?= $(shell go env GOARCH)# architecture of the image's archive
ARCHS ?= $(ARCH) $(filter-out $(ARCH),amd64 arm64)# architectures of the image
CLUSTER ?= demo# name of the local cluster
PKG ?= ./...# packages to test
N ?= 20# how many times soak runs them
TEST_FLAGS ?=# more flags for go test, for instance TEST_FLAGS='-run TestTier -v'
ARGS ?=# more arguments for run, demo, mutate and bench
E2E_FLAGS ?=# more flags for e2e, for instance E2E_FLAGS='-ginkgo.focus AcmeNamespace'

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Programs with modules of their own, because of what they are built from.
MODULES := hack/certmanager hack/cluster/node hack/dashboards hack/image hack/site test/alerts test/bundle

# One set of flags, so that tests, tools, demo, image and bench share what is compiled. The race detector alone needs C. -trimpath
# lets other checkouts share it as well.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath)

# The linter keeps results by the path at which it first saw a package: each checkout gets a cache of its own.
export GOLANGCI_LINT_CACHE := $(CURDIR)/dist/lint-cache

# Targets that use a cluster use KUBECONFIG, else the local cluster if it runs, else kubectl's default.
# The shell decides, because an earlier target of the same make may have started the local cluster.
LOCAL_KUBECONFIG := $(CURDIR)/.cluster/$(CLUSTER)/kubeconfig
USE_CLUSTER = export KUBECONFIG="$${KUBECONFIG:-$$(ls $(LOCAL_KUBECONFIG) 2>/dev/null || true)}"; \
	echo "using $${KUBECONFIG:-the default kubeconfig}";

KUBECTL := bin/kubectl
KUSTOMIZE := bin/kustomize
APPLY := $(KUBECTL) apply --server-side -f -
DELETE := $(KUBECTL) delete --ignore-not-found --timeout=2m -f -
# Go programs get no version control stamp: it would need a git that trusts this folder, and images of
# the same sources would differ.
BUILD := go build -buildvcs=false
LDFLAGS := -s -w -X main.version=v$(VERSION)

##@ General

.PHONY: help
help: ## Show this help
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n\033[1m%s\033[0m\n", substr($$0, 5) } \
		/^[a-z][a-z0-9-]*:.*## / { printf "  \033[36m%-17s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\n\033[1mVariables\033[0m (make TARGET NAME=VALUE)\n'
	@awk '/^[A-Z0-9_]+ \?=.*# / { split($$0, a, / *\?= */); i = index($$0, "# "); v = a[2]; sub(/# .*/, "", v); \
		printf "  \033[36m%-17s\033[0m %s%s\n", a[1], substr($$0, i + 2), (v == "" || v ~ /\$$/) ? "" : " (" v ")" }' $(MAKEFILE_LIST)

##@ Develop

# What the types of the views refer to, and what discovery and errors are made of.
OPENAPI_LIBRARY := $(addprefix k8s.io/apimachinery/pkg/,api/resource apis/meta/v1 runtime version)

.PHONY: generate
generate: bin/controller-gen bin/openapi-gen ## Generate deep copies of the API types, and what OpenAPI says of the views
	bin/controller-gen object:headerFile=hack/boilerplate.go.txt paths=./api/...
	bin/openapi-gen --go-header-file=hack/boilerplate.go.txt --report-filename=/dev/null \
		--output-dir=internal/views/openapi --output-pkg=github.com/acme/platform-operator/internal/views/openapi \
		--output-file=zz_generated.openapi.go --output-model-name-file=zz_generated.model_name.go \
		$(addprefix --readonly-pkg=,$(OPENAPI_LIBRARY)) ./api/views/v1alpha1 $(OPENAPI_LIBRARY)

# The views have no CRDs: a program serves them.
STORED_TYPES := $(patsubst %/,./%/...,$(filter-out api/views/,$(wildcard api/*/)))

# The markers of the views are those of another account than the operator's. They are read with the tag none, and not with the default one,
# by which a package of generated files would be empty.
OPERATOR := $(patsubst %,paths=./%/...,$(filter-out internal/views,$(wildcard internal/*)))

# CRDs go by way of dist/, so that the CRD of a kind that is gone disappears and bases/ is never half full.
.PHONY: manifests
manifests: bin/controller-gen ## Generate CRDs, roles, webhook configurations and the lists of them
	rm -rf dist/crd
	bin/controller-gen crd $(addprefix paths=,$(STORED_TYPES)) output:crd:artifacts:config=dist/crd
	go run ./hack/crds --folder=dist/crd --config=config
	bin/controller-gen rbac:roleName=manager-role webhook $(OPERATOR) \
		output:rbac:artifacts:config=config/rbac output:webhook:artifacts:config=config/webhook
	bin/controller-gen --load-build-tags=none rbac:roleName=views-role paths=./internal/views/server/... output:rbac:artifacts:config=config/views/rbac
	rm -rf config/crd/bases && mv dist/crd config/crd/bases

# The comments of the types are wrapped; the cells of a table need not be.
.PHONY: docs
docs: bin/crd-ref-docs ## Generate docs/reference and docs/schemas
	bin/crd-ref-docs --log-level=WARN --renderer=markdown --source-path=api \
		--config=docs/reference/config.yaml --output-path=docs/reference/api.md
	sed -i -E 's#([^ >])<br />([^-< ])#\1 \2#g' docs/reference/api.md
	sed -i -E 's|_\[map\[string\](\w+)\]\(#map\[string\]\w+\)_|_object (keys:string, values:[\1](#\L\1))_|' docs/reference/api.md
	go run ./hack/plugin --reference=docs/reference/kubectl-acme.md
	go run ./hack/schemas --crds=config/crd/bases --to=docs/schemas

.PHONY: dashboards
dashboards: ## Generate the dashboards for Grafana into config/grafana
	cd hack/dashboards && go run . --crds=$(CURDIR)/config/crd/bases --to=$(CURDIR)/config/grafana

.PHONY: site
site: ## Make a website of the documentation in dist/site, and check its links
	cd hack/site && go run . --root=$(CURDIR) --to=$(CURDIR)/dist/site

.PHONY: fmt
fmt: bin/golangci-lint ## Format the code
	bin/golangci-lint fmt
	@for m in $(MODULES); do (cd $$m && $(CURDIR)/bin/golangci-lint fmt --config $(CURDIR)/.golangci.yml); done

.PHONY: vet
vet: ## Run go vet
	go vet ./...
	@for m in $(MODULES); do (cd $$m && go vet ./...); done

.PHONY: lint
lint: export GOGC ?= 400# as for the control planes of the tests: its heap lives for minutes
lint: export GOMEMLIMIT ?= 6GiB
lint: bin/golangci-lint ## Check the code against the rules in .golangci.yml
	bin/golangci-lint run
	@for m in $(MODULES); do echo "in $$m"; (cd $$m && $(CURDIR)/bin/golangci-lint run --config $(CURDIR)/.golangci.yml); done

.PHONY: verify
verify: ## Regenerate everything and fail when that, or anything else, differs from the last commit
	hack/verify.sh

.PHONY: run
run: build ## Run the operator on this machine, without webhooks, against KUBECONFIG or the local cluster
	@$(USE_CLUSTER) exec bin/manager --namespace=platform-operator-system --webhook-port=-1 --metrics-secure=false \
		--metrics-bind-address=127.0.0.1:8080 --health-probe-bind-address=127.0.0.1:8081 --zap-devel $(ARGS)

##@ Test

# The gate (.ci/run) and `make test` leave out what is slow, timed or random: docs/develop/checks.md. LABELS, SEED and the time-outs
# are read by internal/testenv/limit; Ginkgo gives up five minutes before a time-out, and cleans up.
GATE_LABELS := !Slow && !Timed && !Random && !Flaky
LABELS ?= $(GATE_LABELS)# label filter of the specs to run; LABELS= runs all
PROCS ?= 2# processes that run the guarantees, each with a control plane of its own

# The suites of the controllers wait for Kubernetes most of their time: seven of them took 480 s two at a time, and 282 s four
# at a time, on two cores.
PACKAGES ?= 4# packages that are tested at once

# What passed before, flakes, and the tree of the gate.
PLATFORM_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/platform-operator

# go vet, which reads all dependencies too, is a part of lint, and takes four minutes of a processor each time.
GO_TEST := go test -vet=off -ldflags='-s -w' -timeout 35m

.PHONY: test
test: export LABELS := $(LABELS)
test: test-tools ## Run the tests of the gate, those of the controllers against a real etcd and kube-apiserver
	@export KUBEBUILDER_ASSETS=$(CURDIR)/bin; \
	if [ '$(PKG)' != ./... ]; then exec $(GO_TEST) $(TEST_FLAGS) $(PKG); fi; \
	go run ./hack/test --modules '$(MODULES)' --packages $(PACKAGES) --procs $(PROCS) --cache '$(PLATFORM_CACHE)' --flags '$(TEST_FLAGS)'

.PHONY: test-modules
test-modules: export LABELS :=
test-modules: test-tools ## Run the tests of the modules beside the main one, whatever passed before
	@for m in $(MODULES); do echo "testing $$m"; (cd $$m && go test -vet=off -count=1 $(TEST_FLAGS) ./...) || exit; done

.PHONY: test-guarantees
test-guarantees: export LABELS := $(if $(filter environment command,$(firstword $(origin LABELS))),$(LABELS))
test-guarantees: test-tools ## Run all guarantees, or those that LABELS selects
	mkdir -p dist
	KUBEBUILDER_ASSETS=$(CURDIR)/bin go tool ginkgo --vet=off --ldflags='-s -w' --procs=$(PROCS) --timeout=70m --no-color \
		--output-dir=dist --json-report=guarantees.json ./test/guarantees

# One package at a time: some of it asserts times.
.PHONY: test-slow
test-slow: export LABELS := Slow || Timed || Random || Flaky
test-slow: test-tools ## Run what the gate leaves out of all packages but the guarantees
	KUBEBUILDER_ASSETS=$(CURDIR)/bin $(GO_TEST) -p 1 $(TEST_FLAGS) $$(go list ./... | grep -v /test/guarantees)

.PHONY: soak
soak: ## Run the specs of the package PKG again and again under load: make soak PKG=./internal/engine N=20
	@[ '$(PKG)' != ./... ] || { echo "name one package: make soak PKG=./internal/engine" >&2; exit 1; }
	KUBEBUILDER_ASSETS=$(CURDIR)/bin go run ./hack/soak --pkg $(PKG) -n $(N) --labels '$(LABELS)' $(ARGS)

.PHONY: soak-changed
soak-changed: export LABELS := $(LABELS)
soak-changed: ## Run the tests that have changed since a tree that passed the gate five times under load
	KUBEBUILDER_ASSETS=$(CURDIR)/bin go run ./hack/soak --green '$(PLATFORM_CACHE)/green' -n 5

.PHONY: affected
affected: ## Show what the gate would test of what has changed since a tree that it passed
	@go run ./hack/affected --green '$(PLATFORM_CACHE)/green'

.PHONY: quick
quick: export LABELS := $(LABELS)
quick: bin/golangci-lint ## Format, vet and test just the packages with changed files
	@packages=$$(go run ./hack/affected --green '$(PLATFORM_CACHE)/green' --packages); \
	if [ -z "$$packages" ]; then echo "no package has changed"; exit; fi; \
	bin/golangci-lint fmt --diff && go vet $$packages && KUBEBUILDER_ASSETS=$(CURDIR)/bin $(GO_TEST) $(TEST_FLAGS) $$packages

.PHONY: gate
gate: ## Do what the continuous integration does, in its own tree: what passes here need not run there again
	.ci/run

# Each ends within 80 minutes on two cores. docs/develop/checks.md says what each holds.
.PHONY: check-all all-guarantees all-cluster all-bench all-release all-deep all-cold
check-all: ## Run all that the gate leaves out: the shards all-guarantees, all-cluster, all-bench, all-release, all-deep, all-cold
	hack/check-all.sh all-guarantees all-cluster all-bench all-release all-deep all-cold

all-guarantees:
	hack/check-all.sh $@
all-cluster:
	hack/check-all.sh $@
all-bench:
	hack/check-all.sh $@
all-release:
	hack/check-all.sh $@
all-deep:
	hack/check-all.sh $@
all-cold:
	hack/check-all.sh $@

# The packages with goroutines, locks or atomics. The race detector needs a C compiler and takes several times as long.
RACE_PACKAGES = $$(grep -rlE --include='*.go' '"sync(/atomic)?"|/errgroup"|^[[:space:]]*go (func\(|[a-z.]+\()' internal cmd hack | \
	xargs -n 1 dirname | sort -u | sed 's|^|./|')

.PHONY: test-race
test-race: export LABELS := $(GATE_LABELS)
test-race: test-tools ## Run the tests of all packages with goroutines or locks under the race detector
	hack/packages.sh gcc
	CGO_ENABLED=1 KUBEBUILDER_ASSETS=$(CURDIR)/bin go test -race -vet=off -timeout 60m -p 2 $(TEST_FLAGS) $(RACE_PACKAGES)

# What test/bundle runs.
BUNDLE_TOOLS := bin/operator-sdk bin/kustomize bin/opm bin/scorecard-test

# What TestScorecard needs, checked before minutes of building.
.PHONY: user-namespaces
user-namespaces:
	@[ "$$(id -u)" -eq 0 ] || unshare --user --map-root-user --root=/ true || \
		{ echo "make test needs root or user namespaces: CONTRIBUTING.md says how to allow them" >&2; exit 1; }

.PHONY: test-tools
test-tools: user-namespaces $(BUNDLE_TOOLS) bin/controller-gen bin/versitygw
	hack/packages.sh slapd postgres mariadbd
	go run ./hack/cluster build --only envtest,simulated

# All tests of these packages, those of the real node among them.
.PHONY: test-real-node
test-real-node: ## Run the tests of hack/cluster with those of its real node; needs root
	@[ "$$(id -u)" -eq 0 ] || { echo "make test-real-node runs containers on this machine, which needs root" >&2; exit 1; }
	go run ./hack/cluster build --only simulated,real
	PLATFORM_REAL_NODE=1 go test -count=1 -timeout 10m -v $(TEST_FLAGS) ./hack/cluster ./hack/cluster/machine

.PHONY: test-agent-kills
test-agent-kills: bin/versitygw ## Kill each verb of the database agent at 30 random moments, and look for what is lost
	hack/packages.sh postgres mariadbd
	AGENT_KILLS=30 go test -count=1 -timeout 60m -v -run 'Kills|Migrate|S3' $(TEST_FLAGS) ./internal/database/agent

# Every mutation takes a compilation, and some a control plane: all of them about half an hour, the quick ones a minute. The gate
# tries the quick ones of what has changed.
.PHONY: mutate
mutate: export LABELS :=
mutate: ## Check that a test fails for each of many small, wrong edits of the product; ARGS=--quick for some
	hack/packages.sh slapd postgres mariadbd
	$(if $(findstring --quick,$(ARGS)),,go run ./hack/cluster build --only envtest,simulated)
	KUBEBUILDER_ASSETS=$(CURDIR)/bin go run ./hack/mutate $(ARGS)

.PHONY: bench
bench: ## Measure throughput, latency, requests and memory on the local cluster
	go run ./test/bench $(ARGS)

.PHONY: bench-check
bench-check: ## Run the benchmarks with small counts, and fail if a limit that does not depend on load is exceeded
	hack/bench-check.sh

# A test binary of its own, so that its output is shown at once.
.PHONY: e2e
e2e: $(BUNDLE_TOOLS) ## Install, use, upgrade and remove the operator with OLM on a real node; needs root (test/e2e/README.md)
	@[ "$$(id -u)" -eq 0 ] || { echo "make e2e runs containers on this machine, which needs root: sudo make e2e" >&2; exit 1; }
	hack/packages.sh busybox postgres
	go run ./hack/cluster build --only real,olm,certmanager
	go test -c -vet=off -ldflags '-s -w' -o dist/e2e.test ./test/e2e
	cd test/e2e && PLATFORM_E2E=1 $(CURDIR)/dist/e2e.test -test.timeout 40m -ginkgo.v $(E2E_FLAGS)

##@ Local cluster

.PHONY: demo
demo: ## Bring up a cluster with the operator and samples, and show what to try
	@[ -x bin/kubectl ] || echo "building the demo's own program first, which takes about a minute; then it says what comes"
	@go run ./hack/demo up $(ARGS)

.PHONY: demo-down
demo-down: ## Remove all that demo made
	@go run ./hack/demo down $(ARGS)

.PHONY: cluster-up
cluster-up: ## Start the local Kubernetes cluster
	go run ./hack/cluster up --name $(CLUSTER)

.PHONY: cluster-down
cluster-down: ## Stop the local cluster and remove all of it
	go run ./hack/cluster down --name $(CLUSTER)

##@ Any cluster

.PHONY: install
install: $(KUBECTL) $(KUSTOMIZE) ## Install CRDs, RBAC and policy, for an operator that runs elsewhere
	@$(USE_CLUSTER) $(KUSTOMIZE) build config/install | $(APPLY)

.PHONY: uninstall
uninstall: $(KUBECTL) $(KUSTOMIZE) ## Remove what install created; fails while objects of the operator's kinds exist, unless FORCE=yes
	@$(USE_CLUSTER) KUBECTL=$(KUBECTL) FORCE=$(FORCE) hack/refuse-in-use.sh && \
		$(KUSTOMIZE) build config/install | $(DELETE)

.PHONY: deploy
deploy: $(KUBECTL) $(KUSTOMIZE) ## Install everything with the operator from the image IMG; needs cert-manager
	@$(USE_CLUSTER) $(KUSTOMIZE) build config/default | sed 's|image: controller:latest$$|image: $(IMG)|' | $(APPLY)

.PHONY: undeploy
undeploy: $(KUBECTL) $(KUSTOMIZE) ## Remove what deploy created; fails while objects of the operator's kinds exist, unless FORCE=yes
	@$(USE_CLUSTER) KUBECTL=$(KUBECTL) FORCE=$(FORCE) hack/refuse-in-use.sh && \
		$(KUSTOMIZE) build config/default | $(DELETE)

##@ Build

.PHONY: build
build: ## Build the operator into bin/manager, statically linked
	$(BUILD) -ldflags '$(LDFLAGS)' -o bin/manager ./cmd

COMPANION := $(BUILD) -ldflags '-s -w' -o

.PHONY: build-agent
build-agent: ## Build the database agent into bin/database-agent, statically linked
	$(COMPANION) bin/database-agent ./cmd/database-agent

.PHONY: build-views
build-views: ## Build the server of the views into bin/views, statically linked
	$(COMPANION) bin/views ./cmd/views

.PHONY: build-plugin
build-plugin: ## Build the kubectl plugin for this machine into bin/kubectl-acme
	$(BUILD) -ldflags '$(LDFLAGS)' -o bin/kubectl-acme ./cmd/kubectl-acme

PLUGIN_URL ?= https://downloads.example.com/kubectl-acme# where the archives of the plugin will be, for krew
PLATFORMS := $(foreach os,linux darwin windows,$(os)-amd64 $(os)-arm64)

.PHONY: plugin
plugin: ## Build the kubectl plugin for all platforms: archives and a manifest for krew in dist/plugin
	rm -rf dist/plugin
	@for platform in $(PLATFORMS); do echo "building for $$platform"; os=$${platform%-*}; suffix=; \
		if [ $$os = windows ]; then suffix=.exe; fi; \
		GOOS=$$os GOARCH=$${platform#*-} $(BUILD) -ldflags '$(LDFLAGS)' -o dist/plugin/$$platform/kubectl-acme$$suffix ./cmd/kubectl-acme || exit; done
	go run ./hack/plugin --programs=dist/plugin --version=v$(VERSION) --url=$(PLUGIN_URL)

# The same sources and the same Go give the same digest, on any machine and without a container engine.
.PHONY: image
image: ## Build the image for all ARCHS into dist/image (OCI layout), for ARCH into dist/image.tar, with SPDX lists beside them
	@for arch in $(ARCHS); do echo "building for linux/$$arch"; \
		GOOS=linux GOARCH=$$arch $(BUILD) -ldflags '$(LDFLAGS)' -o dist/linux-$$arch/manager ./cmd && \
		GOOS=linux GOARCH=$$arch $(COMPANION) dist/linux-$$arch/database-agent ./cmd/database-agent && \
		GOOS=linux GOARCH=$$arch $(COMPANION) dist/linux-$$arch/views ./cmd/views || exit; done
	cd hack/image && go run . $(foreach arch,$(ARCHS),--binary $(CURDIR)/dist/linux-$(arch)/manager) --tag $(IMG) \
		--version v$(VERSION) --layout $(CURDIR)/dist/image --archive $(CURDIR)/dist/image.tar --sbom $(CURDIR)/dist/image

.PHONY: image-push
image-push: ## Push the images of the target image to REGISTRY; over plain HTTP if that is on loopback
	cd hack/image && go run . --push --layout $(CURDIR)/dist/image --tag $(REGISTRY)/platform-operator:v$(VERSION)

.PHONY: docker-build
docker-build: ## Build the image IMG from the Dockerfile with docker or podman
	hack/docker-build.sh --build-arg VERSION=$(VERSION) --tag $(IMG) .

##@ Operator Lifecycle Manager

# The operator's image in the bundle. With a digest, the bundle is marked as working disconnected.
BUNDLED_IMG ?= $(REGISTRY)/platform-operator:v$(VERSION)
BUNDLE := go run ./hack/bundle --version $(VERSION) --image $(BUNDLED_IMG)
.PHONY: bundle
bundle: manifests $(BUNDLE_TOOLS) ## Generate the bundle for OLM into bundle/
	$(BUNDLE)

# The newest Kubernetes version that the validators check for removed APIs.
VALIDATE_FOR := --optional-values k8s-version=1.36
.PHONY: bundle-check
bundle-check: $(BUNDLE_TOOLS) ## Fail if bundle/ is not up to date, or not valid
	$(BUNDLE) --check
	bin/operator-sdk bundle validate bundle --select-optional suite=operatorframework $(VALIDATE_FOR)
	bin/operator-sdk bundle validate bundle --select-optional name=operatorhubv2 $(VALIDATE_FOR)

# The version of a bundle in the catalog is the tag of its image.
BUNDLE_IMG ?= $(REGISTRY)/platform-operator-bundle:v$(VERSION)
CATALOG_IMG ?= $(REGISTRY)/platform-operator-catalog:latest
CATALOG := catalog/acme-platform-operator
PORT ?= 50051# port of catalog-serve

.PHONY: catalog
catalog: bundle bin/opm ## Render the catalog from catalog/template.yaml and bundle/
	go run ./hack/catalog render --bundle bundle

.PHONY: catalog-validate
catalog-validate: bin/opm ## Fail if the catalog is not up to date, or not valid
	go run ./hack/catalog render --bundle bundle --check
	bin/opm validate $(CATALOG)

.PHONY: catalog-serve
catalog-serve: bin/opm ## Serve the catalog on PORT, unencrypted and to all who reach this machine, for a CatalogSource with spec.address
	bin/opm serve $(CATALOG) --port $(PORT) --pprof-addr "" --termination-log /dev/null \
		--cache-dir dist/catalog-cache --cache-enforce-integrity=false

# Both Dockerfiles only copy files, so a container engine is not needed, but would do as well.
FILES_IMAGE = cd hack/image && go run ./files --context $(CURDIR) --dockerfile $(CURDIR)/$(1).Dockerfile \
	--tag $(2) --layout $(CURDIR)/dist/$(1)-image

.PHONY: bundle-image
bundle-image: ## Build the bundle's image into dist/bundle-image (OCI layout) and dist/bundle-image.tar
	$(call FILES_IMAGE,bundle,$(BUNDLE_IMG))

.PHONY: catalog-image
catalog-image: ## Build the catalog's image into dist/catalog-image (OCI layout) and dist/catalog-image.tar
	$(call FILES_IMAGE,catalog,$(CATALOG_IMG))

.PHONY: bundle-push
bundle-push: ## Push the image of bundle-image to REGISTRY
	cd hack/image && go run . --push --layout $(CURDIR)/dist/bundle-image --tag $(BUNDLE_IMG)

.PHONY: catalog-push
catalog-push: ## Push the image of catalog-image to REGISTRY
	cd hack/image && go run . --push --layout $(CURDIR)/dist/catalog-image --tag $(CATALOG_IMG)

.PHONY: release
release: ## Make the release VERSION: changelog, bundle, catalog, images; see docs/develop/release.md
	hack/release.sh $(VERSION) $(BUNDLE_IMG)
	$(MAKE) --no-print-directory catalog
	$(MAKE) --no-print-directory bundle-check catalog-validate image bundle-image catalog-image
	@case $(VERSION) in *-*) ;; *) cp bundle/manifests/*.acme.com_*.yaml test/bundle/testdata/released/; \
		cp config/webhook/manifests.yaml test/bundle/testdata/released/webhooks.yaml ;; esac
	@echo "$(VERSION) is made. Read git diff, commit, tag v$(VERSION), and make image-push bundle-push catalog-push."

.PHONY: clean
clean: ## Remove everything that was built, except the tools in bin/
	rm -rf dist bin/manager bin/database-agent bin/views bin/kubectl-acme

# Tools. A tool is built again when the module that pins it changes.

CODEGEN := bin/controller-gen bin/kustomize bin/crd-ref-docs bin/openapi-gen

.PHONY: tools
tools: $(CODEGEN) bin/golangci-lint $(BUNDLE_TOOLS) ## Build the generators, the linter, operator-sdk and opm into bin/

bin/controller-gen: PACKAGE := sigs.k8s.io/controller-tools/cmd/controller-gen
bin/kustomize: PACKAGE := sigs.k8s.io/kustomize/kustomize/v5
bin/crd-ref-docs: PACKAGE := github.com/elastic/crd-ref-docs
bin/openapi-gen: PACKAGE := k8s.io/kube-openapi/cmd/openapi-gen
$(CODEGEN): tools/codegen/go.mod tools/codegen/go.sum

bin/golangci-lint: PACKAGE := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
bin/golangci-lint: tools/lint/go.mod tools/lint/go.sum

# The tags leave out what needs C libraries. The version goes into what operator-sdk generates.
SDK := github.com/operator-framework/operator-sdk
SDK_VERSION = $(shell sed -n 's|.*$(SDK) \(v[^ ]*\).*|\1|p' tools/operator-sdk/go.mod)
bin/operator-sdk: PACKAGE := $(SDK)/cmd/operator-sdk
WITHOUT_C := containers_image_openpgp,exclude_graphdriver_btrfs,json1
bin/operator-sdk: TOOL_FLAGS = -tags $(WITHOUT_C) -ldflags \
	"-s -w $(foreach name,Version GitVersion ImageVersion,-X $(SDK)/internal/version.$(name)=$(SDK_VERSION))"
bin/operator-sdk: tools/operator-sdk/go.mod tools/operator-sdk/go.sum

bin/scorecard-test: PACKAGE := $(SDK)/images/scorecard-test
bin/scorecard-test: TOOL_FLAGS := -tags $(WITHOUT_C) -ldflags '-s -w'
bin/scorecard-test: tools/operator-sdk/go.mod tools/operator-sdk/go.sum

bin/opm: PACKAGE := github.com/operator-framework/operator-registry/cmd/opm
bin/opm: TOOL_FLAGS := -tags $(WITHOUT_C) -ldflags '-s -w'
bin/opm: tools/opm/go.mod tools/opm/go.sum

bin/versitygw: PACKAGE := github.com/versity/versitygw/cmd/versitygw
bin/versitygw: tools/s3/go.mod tools/s3/go.sum

TOOL_FLAGS := -ldflags '-s -w'
$(CODEGEN) bin/golangci-lint bin/operator-sdk bin/scorecard-test bin/opm bin/versitygw:
	@echo "building $@ (takes up to a few minutes the first time) ..."
	cd $(<D) && GOWORK=off go build -buildvcs=false $(TOOL_FLAGS) -o $(CURDIR)/$@ $(PACKAGE)
	@touch $@

bin/kubectl: tools/kubernetes/go.mod tools/kubernetes/go.sum
	go run ./hack/cluster build --only kubectl
	@touch $@
