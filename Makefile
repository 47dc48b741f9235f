# make preflight   set up, run on this machine, then on the recorded demo fleet
# make test        set up, run every test
# make manufacturer NAME=acme TITLE=Acme VENDOR=1abc TOOL=acme-smi   lay out a new manufacturer (docs/adding-a-manufacturer.md)
# Variables: PYTHON (3.11 or newer), INVENTORY, ARGS (for ansible-playbook or pytest), RUN_ROOT, SYSTEM_PACKAGES=1 (let tests apt-get what they need)
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= $(shell tools/find_python.sh)
VENV := .venv
BIN := $(VENV)/bin
COLLECTIONS := .cache/collections/ansible_collections/fleetproof/accelerator
RUN_ROOT ?= runs
INVENTORY ?= inventories/localhost
ARGS ?=
JOBS ?= 2
SYSTEM_PACKAGES ?=

export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup preflight demo test lint bench docs manifest manufacturer clean

help: ## Show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.ready $(COLLECTIONS) ## Make the virtual environment

$(VENV)/.ready: requirements.txt
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or newer with venv found; set PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --requirement requirements.txt 2>&1 | { grep -v '^WARNING' || true; }
	@$(BIN)/python -c 'import ansible, yaml, jmespath, netaddr, jsonschema'
	@touch $@

$(VENV)/.test-ready: $(VENV)/.ready tests/requirements.txt
	@$(BIN)/python -m pip install --quiet --requirement tests/requirements.txt 2>&1 | { grep -v '^WARNING' || true; }
	@$(BIN)/python -c 'import pytest, hypothesis'
	@touch $@

$(COLLECTIONS):
	@mkdir -p $(@D) && ln -sfn ../../../.. $@

preflight: setup ## Run the preflight on this machine, then on the recorded demo fleet
	@$(BIN)/python tools/run_preflight.py --run-root "$(RUN_ROOT)/this-machine" --inventory "$(INVENTORY)" -- $(ARGS)
	@$(BIN)/python tools/run_demo.py --run-root "$(RUN_ROOT)/demo" -- $(ARGS)

demo: setup ## Run the recorded demo fleet and hold its verdicts against the manifest
	@$(BIN)/python tools/run_demo.py --run-root "$(RUN_ROOT)/demo" -- $(ARGS)

test: setup $(VENV)/.test-ready ## Run every test
	@if [ -n "$(SYSTEM_PACKAGES)" ]; then tools/system_packages.sh; fi
	@$(BIN)/python -m pytest tests --numprocesses $(JOBS) --dist loadfile $(ARGS)

lint: setup $(VENV)/.test-ready ## Run the linters alone
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/python -m pytest tests/quality $(ARGS)

bench: setup $(VENV)/.test-ready ## Measure; prints medians
	@$(BIN)/python tests/bench/run.py $(ARGS)

docs: setup $(VENV)/.test-ready ## Renew the generated documents
	@for tool in tools/generate_registry.py tools/generate_modules.py tools/generate_*.py; do PYTHONPATH=.cache/collections $(BIN)/python $$tool; done

manufacturer: setup ## Lay out a new manufacturer: NAME=acme TITLE=Acme VENDOR=1abc TOOL=acme-smi
	@test -n "$(NAME)" || { echo "NAME: found nothing, allowed: 2 to 20 lower-case letters and digits" >&2; exit 1; }
	@$(BIN)/python tools/new_manufacturer.py "$(NAME)" $(if $(TITLE),--title "$(TITLE)") $(if $(VENDOR),--vendor "$(VENDOR)") $(if $(TOOL),--tool "$(TOOL)")

clean: ## Remove what make made
	@rm -rf $(VENV) .cache tests/output
