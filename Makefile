# Pondage. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

GO      ?= go
TOOLS   := build/tools
# PKGS: the packages of the product; the tools are a module of their own.
PKGS    := ./...
# What `make demo` keeps: KEEP=1 leaves the stack running and says how to look at it.
KEEP    ?=
# make conformance VECTORS=DIR, make decode-check RECORDS=FILE EXPECTED=FILE [GENERATED=DIR]
VECTORS   ?= test/conformance/testdata/windows
RECORDS   ?= internal/decode/testdata/bad-records.ndjson
EXPECTED  ?= internal/decode/testdata/bad-records.expected.json
GENERATED ?=
BENCH     ?= .
FUZZTIME  ?= 20s

.PHONY: help
help: ## what each target does
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/pondage
	@mkdir -p bin
	$(GO) build -o bin/pondage ./cmd/pondage

.PHONY: demo
demo: build ## the main job on real flights, compared with a batch computation (KEEP=1 leaves the stack up)
	bin/pondage demo $(if $(KEEP),--keep)

.PHONY: test
test: ## all tests
	$(GO) test $(PKGS)

.PHONY: test-race
test-race: ## all tests under the race detector
	$(GO) test -race $(PKGS)

.PHONY: verify
verify: ## regenerate without a difference, format, vet, lint, layers, OpenAPI
	@tools/verify.sh

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## golangci-lint
	$(TOOLS)/golangci-lint run $(PKGS)

.PHONY: generate
generate: $(TOOLS)/oapi-codegen $(TOOLS)/sqlc ## regenerate all generated files
	PATH="$(CURDIR)/$(TOOLS):$$PATH" $(GO) generate $(PKGS)

.PHONY: conformance
conformance: build ## the window vectors through planner, dispatch and windows (E2E=1: through the embedded broker)
	@bin/pondage conformance --vectors "$(VECTORS)" $(if $(E2E),--e2e)

.PHONY: decode-check
decode-check: build ## the decoder against a sidecar of verdicts
	@bin/pondage decode-check --records "$(RECORDS)" --expected "$(EXPECTED)" $(if $(GENERATED),--generated "$(GENERATED)")

.PHONY: e2e-kafka
e2e-kafka: ## the end-to-end suite on a real Apache Kafka, with one broker and with three (PONDAGE_KAFKA_SH)
	PONDAGE_E2E_KAFKA=1 $(GO) test -count=1 -timeout 30m ./test/e2e/...
	PONDAGE_E2E_KAFKA=3 $(GO) test -count=1 -timeout 30m ./test/e2e/...

.PHONY: bench
bench: ## micro-benchmarks of the hot path with allocations (BENCH=regexp)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./internal/...

SEEDS ?= 2000
.PHONY: sim
sim: ## simulated runs with crashes, lost and doubled words, compared with a batch computation (SEEDS=N)
	@$(GO) build -o bin/simulate ./internal/sim/simulate
	@bin/simulate -seeds $(SEEDS) -keep internal/sim/testdata/seeds

# make chaos SEEDS=1-40 [DURATION=1m] [CHAOS="--kafka SCRIPT --faults kill,stop"]: goes on where it was interrupted.
DURATION ?= 1m
CHAOS    ?=
RECORD   ?= build/chaos/seeds.txt
.PHONY: chaos
chaos: SEEDS = 1-40
chaos: ## real processes, faults, and every result compared with a batch computation (SEEDS=1-40)
	@mkdir -p bin
	@$(GO) build -buildvcs=auto -tags failpoints -o bin/pondage-chaos ./cmd/pondage
	@bin/pondage-chaos chaos --seeds $(SEEDS) --duration $(DURATION) --record $(RECORD) --keep $(CHAOS)

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME each
	@tools/fuzz.sh $(FUZZTIME)

.PHONY: tools
tools: $(TOOLS)/golangci-lint $(TOOLS)/oapi-codegen $(TOOLS)/sqlc ## build the pinned tools

$(TOOLS)/golangci-lint $(TOOLS)/oapi-codegen $(TOOLS)/sqlc: tools/go.mod
	@mkdir -p $(TOOLS)
	cd tools && $(GO) build -o ../$@ $$(sed -n 's|^\t\(.*/$(@F)\)$$|\1|p' go.mod)

.PHONY: clean
clean: ## remove what was built
	rm -rf bin build
