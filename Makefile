# Everything that is done with this checkout, by name. `make` alone lists it. Nothing here needs an environment to be active.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help system setup setup-run demo test test-unit test-sanity test-lint test-corpus test-sandbox lint format \
	clean sandbox-up sandbox-down sandbox-check

PY := .venv/bin/python
# More words for pytest: make test-unit T='-k redact -x'
T ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

system: ## install missing system packages (root, Debian or Ubuntu); starts no service
	@tools/bootstrap.sh

setup: ## make or update .venv with all that the tests need
	@tools/setup.sh test

setup-run:
	@tools/setup.sh run

demo: system setup-run ## raise the sandbox, deploy to guest 129, show that it serves
	@echo ">>> demo: raising the sandbox and deploying to it"
	@sandbox/demo.sh

test: system setup ## all tests: lint, sanity, unit, corpus, sandbox end to end
	@tests/run.sh

test-unit: setup ## unit tests (pytest)
	@echo ">>> unit tests"
	@$(PY) -m pytest tests/unit $(T)

test-corpus: setup ## recorded logs through log_diagnose (pytest)
	@echo ">>> corpus tests"
	@$(PY) -m pytest tests/corpus $(T)

test-sandbox: system setup ## end to end in the sandbox (pytest, root)
	@echo ">>> sandbox tests"
	@$(PY) -m pytest tests/sandbox $(T)

test-sanity: setup ## ansible-test sanity, all of it, without docker
	@echo ">>> ansible-test sanity"
	@$(PY) tests/sanity/run.py

test-lint lint: setup ## ruff, mypy, yamllint, ansible-lint, shellcheck, changelog, syntax of playbooks, build
	@echo ">>> lint"
	@tests/lint/run.sh

format: setup ## put imports and layout of Python files in order (ruff)
	@echo ">>> ruff: sorting imports and fixing what can be fixed safely"
	@.venv/bin/ruff check --fix .

sandbox-up: system setup-run ## raise the sandbox node and its guests, deploy nothing
	@echo ">>> raising the sandbox"
	@sandbox/sandbox up

sandbox-down: ## stop the sandbox, keep its disks
	@echo ">>> stopping the sandbox"
	@sandbox/sandbox down

sandbox-check: ## say what would keep the sandbox from working here
	@sandbox/sandbox check

clean: ## take the sandbox away without a trace (the download cache stays)
	@echo ">>> removing the sandbox"
	@sandbox/sandbox clean
