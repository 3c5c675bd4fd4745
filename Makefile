# Every target sets up what it needs by itself (tools/setup.py), reuses what is there, and is safe
# to run again.

PYTHON ?= python3
FRAMEWORK ?= jax
BIN = .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup quickstart destroy test lint apiserver check bench

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1;/p' Makefile | awk -F';' '{ printf "make %-11s %s\n", $$1, $$2 }'

setup: ## make .venv with the package in it, and the Pulumi CLI (built where there is none)
	@$(PYTHON) tools/setup.py

quickstart: setup ## train a model on real data with `pulumi up`, on this machine [FRAMEWORK=jax|torch]
	@$(BIN)/python tools/quickstart.py up --framework $(FRAMEWORK)

destroy: setup ## remove what the quickstart made [FRAMEWORK=jax|torch]
	@$(BIN)/python tools/quickstart.py destroy --framework $(FRAMEWORK)

test: setup ## run the tests [T=path] [K=pattern]
	@$(if $(T),,$(BIN)/python -m tools.cluster.apiserver --build)
	@$(if $(T),,$(BIN)/python -m tests.parity.reference)
	@$(BIN)/pytest -n 2 $(T) $(if $(K),-k '$(K)')

lint: setup ## format, style, types and the layers of the package, checked only
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

apiserver: setup ## run a real Kubernetes API server with the CRDs, without nodes, until Ctrl-C
	@$(BIN)/python -m tools.cluster.apiserver

check: lint test ## what CI runs: lint, then test

bench: setup ## measure start-up, the core and the quickstart, as JSON
	@$(BIN)/python tools/bench/run.py
