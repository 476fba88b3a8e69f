# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Everything is made inside the clone: .venv (the tools) and .build (a copy of the tree where Ansible's tools want it,
# caches, and a home folder, so that no tool reads or writes the user's own).

PYTHON ?= python3
# For test-matrix: some ansible-core versions only, such as CORES="2.16 2.21".
CORES ?=
# For test-matrix: which tests; "not once" is all that ansible-core has a part in, and takes twice as long.
export MATRIX ?= not once and not rest
# For test-fresh: what is made there, and as whom.
FRESH ?= test
FRESH_AS ?= root,someone
# For test-steady.
RUNS ?= 10
# Cores for the tests.
export JOBS ?= 2
# Processes for pytest: tests spend most of their time waiting.
export PROCESSES ?= $(shell expr $(JOBS) \* 4)
# More options for pytest, such as ARGS="-k incarnation -x".
ARGS ?=

USER_HOME := $(HOME)
USER_PATH := $(PATH)
export HOME := $(CURDIR)/.build/home
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export XDG_CACHE_HOME := $(HOME)/.cache
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/.build
export HYPOTHESIS_STORAGE_DIRECTORY := $(CURDIR)/.build/hypothesis
# The user's own settings; and what git sets for its hooks, as the copy in .build is a repository of its own.
unexport ANSIBLE_CONFIG GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE PYTHONPATH

MIRROR := .build/ansible_collections/maintenance/azure
# A process that has nothing left takes over from others.
PYTEST := .venv/bin/python -m pytest -n $(PROCESSES) --dist worksteal
# The sessions use what .venv has, instead of environments of their own with the same packages.
NOX := .build/nox/bin/nox --no-venv
# A virtual environment knows its path and its Python: another one needs another environment.
VENV := .venv/made-$(shell printf %s "$(CURDIR) $(PYTHON)" | cksum | cut -d ' ' -f 1)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' Makefile

.PHONY: test
test: .venv/test mirror ## What decides whether a change is safe; five minutes at most
	$(PYTEST) -m "not rest" tests/unit tests/conformance tests/runs $(ARGS)
	@echo "make test: all passed"

.PHONY: test-all
test-all: test test-rest checks ## Everything but the matrix, the fresh machine and the lab
	@echo "make test-all: all passed"

.PHONY: checks
checks: .venv/docs .build/nox/made mirror ## lint, docs, importer and sanity, two at a time
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint docs importer sanity

.PHONY: test-rest
test-rest: .venv/rest .build/rulebook/made mirror ## The simulator's conformance, other examples for the properties, further runs
	$(PYTEST) -m hypothesis --hypothesis-profile=random tests/unit $(ARGS)
	$(PYTEST) -m rest tests/unit tests/runs tests/conformance $(ARGS)

.PHONY: test-steady
test-steady: .venv/test mirror ## `make test` RUNS times (10), a line for each: commit, seconds, closing lines
	@tests/tools/steady $(RUNS)

.PHONY: test-matrix
test-matrix: .venv/runtime .build/nox/made mirror ## What `make test` runs, on every ansible-core that the Pythons here allow
	.build/nox/bin/nox \
		$(if $(CORES),--error-on-missing-interpreters --session $(CORES:%=matrix-%),--no-error-on-missing-interpreters --tags matrix)

# FRESH=demo tries less.
.PHONY: test-fresh
test-fresh: lab-possible .venv/runtime ## `make test` on a fresh Debian with Python, make and git only; as root, many minutes
	PYTHONPATH=tests .venv/bin/python -m lab.fresh $(FRESH_AS) $(FRESH)

# The hooks of pre-commit are the lint-* targets, so a commit is checked by what CI runs.
.PHONY: lint
lint: .venv/lint mirror ## All lint-* targets, through pre-commit
	.venv/bin/pre-commit run --all-files --color never

# ruff, mypy, antsibull-docs and ansible-lint are not run by the sessions of antsibull-nox: without environments of their own,
# which take minutes, these do nothing and succeed.
.PHONY: lint-ruff
lint-ruff: .venv/lint ## Style and format of the Python code
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

.PHONY: lint-mypy
lint-mypy: .venv/lint mirror ## Types of the controller's code
	.venv/bin/mypy $(addprefix $(MIRROR)/,$(wildcard $(addprefix plugins/,action filter inventory plugin_utils)))

.PHONY: lint-imports
lint-imports: .venv/lint mirror ## Who may import whom
	PYTHONPATH=.build .venv/bin/lint-imports --cache-dir .build/importlinter

.PHONY: lint-ansible
lint-ansible: .venv/lint mirror ## ansible-lint, which also runs yamllint
	cd $(MIRROR) && ansible-lint

.PHONY: lint-docs
lint-docs: .venv/lint mirror ## Changelog fragments, plugin and role documentation
	cd $(MIRROR) && antsibull-changelog lint
	cd $(MIRROR) && antsibull-docs lint-collection-docs --plugin-docs .

.PHONY: lint-files
lint-files: .build/nox/made ## Unwanted files, trailing spaces, the settings of antsibull-nox
	$(NOX) --session extra-checks antsibull-nox-config

.PHONY: docs
docs: .venv/docs mirror ## The guides and a reference page for everything, as a web site in .build/docs/html
	.venv/bin/python docs/site/build.py .build/docs

.PHONY: lint-patterns
lint-patterns: .venv/lint ## Patterns for AWX, by their published schema
	.venv/bin/python tests/tools/check_patterns.py extensions/patterns .build/pattern-schema

# Not by antsibull-nox, whose sessions for ansible-test need containers.
ANSIBLE_TEST = PATH="$(CURDIR)/.venv/bin:$(CURDIR)/.build/pythons:$$PATH" ansible-test sanity --color no
# The options of a module in PowerShell are asked of a PowerShell; without one all else is looked at.
WITHOUT_POWERSHELL = $(if $(shell command -v pwsh),,--exclude plugins/modules/_windows_host.ps1)
# pslint is a question to PSScriptAnalyzer: without PowerShell ansible-test leaves it out and says so, but a PowerShell
# that has no such module ends the run.
ANALYZER = Get-Module -ListAvailable PSScriptAnalyzer
WITHOUT_ANALYZER = $(if $(and $(shell command -v pwsh),$(if $(shell pwsh -NoProfile -Command "$(ANALYZER)"),,no)),\
	$(warning pslint is left out: this pwsh has no PSScriptAnalyzer) --skip-test pslint)

.PHONY: sanity
sanity: .venv/runtime mirror ## ansible-test sanity, nothing ignored
	@.venv/bin/python tests/tools/get_pip.py
	@.venv/bin/python tests/tools/pythons.py .build/pythons
	cd $(MIRROR) && $(ANSIBLE_TEST) --skip-test validate-modules $(WITHOUT_ANALYZER) $(SANITY)
	cd $(MIRROR) && $(ANSIBLE_TEST) --test validate-modules $(WITHOUT_POWERSHELL)

# The session succeeds whatever galaxy-importer finds. That has ansible-lint look for collections one folder too deep, where
# it finds no playbook of ours.
INSTALLED = ANSIBLE_COLLECTIONS_PATH="$(CURDIR)/.build/importer/installed"
PLAYBOOKS = $(patsubst playbooks/%.yml,-e "ERROR  *Failed to find maintenance.azure.% playbook.",$(wildcard playbooks/*.yml))
.PHONY: importer
importer: export GALAXY_IMPORTER_TMP_ROOT_DIR = $(CURDIR)/.build/importer
importer: .venv/lint .build/nox/made mirror ## Build, install and import the tarball as Galaxy does
	@rm -rf .build/importer && mkdir -p .build/importer
	$(NOX) --session build-import-check > .build/importer/log; failed=$$?; cat .build/importer/log; exit $$failed
	@! grep -E "^ *(ERROR|WARNING):" .build/importer/log | grep -v $(PLAYBOOKS)
	$(INSTALLED) ansible-galaxy collection install --offline .build/nox/sessions/build-import-check/tmp/collection/maintenance-azure-*.tar.gz
	$(INSTALLED) ansible-doc --metadata-dump maintenance.azure > .build/importer/documentation.json

.PHONY: lab
lab: lab-possible .venv/test mirror ## Real machines, load balancer, reboots and kills on this machine; as root, minutes
	.venv/bin/python -m pytest tests/lab/scenarios $(ARGS)

.PHONY: lab-up
lab-up: lab-possible .venv/runtime mirror ## The machines of the lab, left running to try things
	@PYTHONPATH=tests .venv/bin/python -m lab.lab up

.PHONY: lab-down
lab-down: lab-possible $(VENV) ## Remove all that the lab runs, also after it was killed
	@PYTHONPATH=tests .venv/bin/python -m lab.lab down

.PHONY: lab-possible
lab-possible:
	@HOME="$(USER_HOME)" PATH="$(USER_PATH)" $(PYTHON) tests/lab/requirements.py

# The mirror under the name by which mutmut and the tests know it; mutmut writes its results there, too.
.PHONY: mutants
mutants: .venv/mutants mirror ## Whether a test notices mutants of the decisions; some minutes. Of some with ARGS="*waves*"
	@rm -rf .build/mutants && mkdir .build/mutants
	@ln -s ../../pyproject.toml ../ansible_collections .build/mutants
	cd .build/mutants && nice ../../.venv/bin/python ../../tests/tools/mutants.py $(ARGS)

.PHONY: bench
bench: .venv/runtime mirror ## What it costs, against its goals; minutes, and nothing else should run meanwhile
	.venv/bin/python tests/benchmark/bench.py --json .build/bench/bench.json $(ARGS)

.PHONY: demo
demo: .venv/runtime mirror ## Nine simulated VMs go through their maintenance: inventory, plan, run, report
	.venv/bin/python demo/run.py

.PHONY: picture
picture: demo ## The picture of a run in the README, from a run of the demo
	.venv/bin/python demo/picture.py .build/demo/maintenance-report.json docs/images/run.svg

.PHONY: format
format: .venv/lint ## Let ruff put the Python code right
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

.PHONY: clean
clean: ## Remove .venv and .build
	rm -rf .venv .build

.PHONY: mirror
mirror: $(VENV)
	@.venv/bin/python tests/tools/mirror.py .build

define CHECK_PYTHON
import sys
if sys.version_info < (3, 10):
    sys.exit("make needs Python 3.10 or newer, $(PYTHON) is %d.%d. Try: make PYTHON=python3.12 ..." % sys.version_info[:2])
print(sys.executable)
endef
export CHECK_PYTHON

$(VENV):
	@python=$$(HOME="$(USER_HOME)" PATH="$(USER_PATH)" $(PYTHON) -c "$$CHECK_PYTHON") && \
		echo "Making .venv with $$python" && rm -rf .venv && $$python -m venv .venv
	@touch $@

PIP_CONF := .build/home/.config/pip/pip.conf
$(PIP_CONF): $(VENV)
	@HOME="$(USER_HOME)" .venv/bin/python tests/tools/pip_conf.py $@

# ansible-rulebook wants its own versions of what the tools here want, too.
.build/rulebook/made: tests/requirements-rulebook.txt $(PIP_CONF)
	.venv/bin/python -m venv .build/rulebook
	.build/rulebook/bin/python -m pip install -qq --disable-pip-version-check -r $<
	@touch $@

# galaxy-importer wants an attrs that is older than the one of nox.
.build/nox/made: tests/requirements-nox.txt $(PIP_CONF)
	.venv/bin/python -m venv .build/nox
	.build/nox/bin/python -m pip install -qq --disable-pip-version-check -r $<
	@touch $@

.venv/runtime: $(PIP_CONF) requirements.txt
.venv/test: .venv/runtime
.venv/rest: .venv/test
.venv/lint: .venv/test
.venv/mutants: .venv/test
.venv/docs: .venv/lint
.venv/%: tests/requirements-%.txt
	.venv/bin/python -m pip install -qq --disable-pip-version-check -r $<
	@touch $@
