# Every target sets up what it needs by itself (tools/setup.py), reuses what is there, and is safe
# to run again.

PYTHON ?= python3
FRAMEWORK ?= jax
BIN = .venv/bin

# What users start has been compiled by an earlier start, and a test starts Python many times.
export PYTHONDONTWRITEBYTECODE =
# mypy looks at what has changed since any checkout of this machine was linted.
export MYPY_CACHE_DIR ?= $(or $(TRAINER_INFRA_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/trainer-infra)/mypy

.DEFAULT_GOAL := help
.PHONY: help setup quickstart destroy platform platform-destroy test verify passes lint lock docs apiserver cluster cluster-down check e2e equipment e2e-shared e2e-alone e2e-controllers e2e-own-clusters soak bench bench-policy bench-cluster bench-controller bench-platform bench-initializers bench-checkpoint

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1;/p' Makefile | awk -F';' '{ printf "make %-13s %s\n", $$1, $$2 }'

setup: ## make .venv with the package in it, and the Pulumi CLI (built where there is none)
	@$(PYTHON) tools/setup.py

quickstart: setup ## train a model on real data with `pulumi up`, on this machine [FRAMEWORK=jax|torch]
	@$(BIN)/python tools/quickstart.py up --framework $(FRAMEWORK)

destroy: setup ## remove what the quickstart made [FRAMEWORK=jax|torch]
	@$(BIN)/python tools/quickstart.py destroy --framework $(FRAMEWORK)

platform: setup ## install a training platform with `pulumi up` [STACK=dev] [KUBECONFIG=yours: else a cluster is made]
	@$(BIN)/python -m tools.platform_stack up --stack $(or $(STACK),dev)

platform-destroy: setup ## remove it; refused while there are jobs or queues [STACK=dev] [ALLOW=1: with all of them]
	@$(BIN)/python -m tools.platform_stack destroy --stack $(or $(STACK),dev) $(if $(ALLOW),--allow-destroy)

ON_CLUSTER = tests/e2e tests/cluster_tool tests/chaos tests/soak
# Of the cluster's tests those that stop or replace a part of it, or count all that is in it.
DISRUPTIVE = tests/e2e/disruptive
CONTROLLERS = tests/e2e/controller tests/e2e/sdk
ALONE = $(DISRUPTIVE) $(CONTROLLERS)
# Those that wait for clusters which they make themselves, beside all others.
OWN_CLUSTERS = tests/e2e/disruptive/test_stacks.py tests/cluster_tool tests/chaos

test: setup ## run the tests that need no program of Kubernetes [T=any path] [K=pattern] [CHANGED=1: what a change reaches]
	@reached=$(if $(CHANGED),$$($(BIN)/python -m tools.changed_tests $(CHANGED:1=))) || exit; \
	  $(BIN)/pytest -n 4 --dist worksteal $(or $(T),-m "not soak and not verify" $(ON_CLUSTER:%=--ignore=%)) $(if $(K),-k '$(K)') $$reached

verify: setup ## run those against real API servers, controllers and the reference's code [T=path] [K=pattern]
	@$(if $(T),,$(BIN)/python -m tests.verify_programs)
	@$(BIN)/pytest -n 3 --dist worksteal -m "verify and not soak" $(or $(T),$(ON_CLUSTER:%=--ignore=%)) $(if $(K),-k '$(K)')

passes: setup ## keep in tests/passed, to be committed, what the reference and the real CLI have passed here
	@$(BIN)/python -m tests.committed_passes

lint: setup ## format, style, types and the layers of the package, checked only
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

lock: setup ## renew requirements.lock, what every target installs [PACKAGE=only this one]
	@$(BIN)/python -m tools.lock $(PACKAGE)
	@$(PYTHON) tools/setup.py

docs: setup ## build the site of the documentation, every link checked, into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "open build/site/index.html"

apiserver: setup ## run a real Kubernetes API server with the CRDs, without nodes, until Ctrl-C
	@$(BIN)/python -m from_source.cluster.apiserver

cluster: setup ## run a real Kubernetes of one node with JobSet, in the background [KUBECONFIG=yours: only check it]
	@$(BIN)/python -m from_source.cluster.up

cluster-down: setup ## take that cluster away, with all of it
	@$(BIN)/python -m from_source.cluster.down

check: setup ## lint, test and verify; CI runs this and `make e2e`
	@for tier in lint test verify; do \
	  began=$$(date +%s); $(MAKE) --no-print-directory $$tier || exit; \
	  echo "tier $$tier: $$(($$(date +%s) - began)) s"; done

e2e: equipment ## run the tests on a real cluster: pods, frameworks, interruptions
	@$(MAKE) --no-print-directory --jobs $(if $(KUBECONFIG),1,3) --output-sync e2e-shared e2e-alone e2e-controllers e2e-own-clusters

# What the tests put into the cluster: images, packages, helm.
equipment: cluster
	@$(BIN)/python -m from_source.cluster.equipment

# Streams of about the same length; three at a time: beside four clusters and their trainings, API servers on two cores
# were seen to answer no request in time. A cluster of yours serves the first three streams.
e2e-shared:
	@$(BIN)/pytest -n 3 --dist worksteal -m "not soak" tests/e2e $(patsubst %,--ignore=%,$(ALONE) $(OWN_CLUSTERS))

e2e-alone: export TRAINER_INFRA_CLUSTER = alone
e2e-alone: STREAM = $(DISRUPTIVE)
e2e-controllers: export TRAINER_INFRA_CLUSTER = controllers
e2e-controllers: STREAM = $(CONTROLLERS)
e2e-alone e2e-controllers:
	@$(BIN)/pytest -m "not soak" $(STREAM) $(OWN_CLUSTERS:%=--ignore=%); \
	  status=$$?; [ $$status = 0 ] || $(BIN)/python -m tools.cluster_logs; \
	  $(BIN)/python -m from_source.cluster.down; exit $$status

e2e-own-clusters:
	@$(BIN)/pytest -m "not soak" $(OWN_CLUSTERS)

soak: cluster ## run long tests, search for new examples, and try the oldest libraries and the clouds' SDKs [ROUNDS=100]
	@$(BIN)/python -m tools.lowest
	@$(BIN)/python -m tools.clouds
	@$(BIN)/pytest -n 3 --dist worksteal -m soak $(ON_CLUSTER:%=--ignore=%)
	@ASK_AGAIN=1 $(BIN)/pytest -n 3 --dist worksteal -k 'upstream or cli' tests/conformance tests/contract/engine
	@for round in $$(seq 10); do \
	  $(BIN)/pytest -n 3 --dist worksteal -m hypothesis --hypothesis-profile=search $(ON_CLUSTER:%=--ignore=%) || exit; done
	@$(BIN)/python -m from_source.cluster.equipment image helm trainer coscheduling lws prometheus volcano trainer-before
	@$(BIN)/pytest -n 3 --dist worksteal -m soak tests/e2e $(ALONE:%=--ignore=%)
	@$(BIN)/pytest -m soak $(ALONE)
	@ROUNDS=$(or $(ROUNDS),100) $(BIN)/pytest tests/e2e/test_kill_loop.py
	@$(BIN)/pytest -m soak tests/chaos
	@$(BIN)/pytest tests/soak

bench: setup ## measure start-up, the core, policy and the quickstart, as JSON
	@$(BIN)/python tools/bench/run.py

bench-policy: setup ## of these only policy: checks of files, and what a pack costs
	@$(BIN)/python -m tools.bench.policy

bench-cluster: cluster ## measure `pulumi up` on a real cluster, as JSON
	@$(BIN)/python -m from_source.cluster.equipment image
	@$(BIN)/python -m tools.bench.cluster

bench-controller: setup ## measure `trainer-infra controller`, as JSON lines [PEER=another controller's binary]
	@$(BIN)/python -m tools.bench.controller

bench-platform: setup ## measure `pulumi up` of the platform on a bare cluster, as JSON [ROUNDS=3]
	@$(BIN)/python -m tools.bench.platform_bench --rounds $(or $(ROUNDS),3)

bench-initializers: setup ## measure the initializers' downloads from an S3 server, beside s5cmd, as JSON [ROUNDS=3]
	@$(BIN)/python -m tools.bench.initializers --rounds $(or $(ROUNDS),3)

bench-checkpoint: setup ## measure what a checkpoint costs a training, beside torch's own ways, as JSON lines [ROUNDS=3]
	@$(BIN)/python -m tools.bench.checkpoint --rounds $(or $(ROUNDS),3)
