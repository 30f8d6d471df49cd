PYTHON_IN_VENV := .venv/bin/python
COMPILE := .venv/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 $(ARGS)
CLIENTS := tests/generated_clients

# What is installed is compiled when it is first imported; that must be kept, or each process would do it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run info test browsers chaos bench sizing latency growth fuzz format lint types check lock clients package release image env licences clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.* ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 8

run: ## PostgreSQL, Redis, web, workers and scheduler, with a demo; HOST and PORT choose the address
	@.ci/install requirements-embedded.txt
	@$(PYTHON_IN_VENV) -m config.local.launch

info: ## what the first screen of run shows, again: addresses, the password and the keys
	@.ci/install requirements-embedded.txt
	@$(PYTHON_IN_VENV) -m config.local.info

# POOLER=pgbouncer puts PgBouncer between the service and PostgreSQL: in tests, chaos and benchmarks.

# Each run has databases of its own, so that two at once in one checkout do not meet. One process more than there are
# processors, because some tests wait for processes of the service; with two more, it takes longer.
test: ## the service's promises against real servers; ARGS="tests/journeys -k enroll" for a part of the suite, ARGS=tests for all
	@.ci/install requirements-dev.txt
	@TEST_DATABASE_NAME=test_engage_$$$$ $(PYTHON_IN_VENV) -m pytest --numprocesses $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist worksteal $(or $(ARGS),-m "not tools and not slow")

browsers: ## all tests in Debian's chromium and firefox-esr, which it needs; a few of them are in check as well
	@.ci/install requirements-dev.txt
	@BROWSERS=required TEST_DATABASE_NAME=test_engage_$$$$ $(PYTHON_IN_VENV) -m pytest tests/browsers $(ARGS)

chaos: ## kills, freezes and cuts what the service needs, under load; SEED=7 does the same again, SCENARIO=redis-full one
	@.ci/install requirements-dev.txt
	@$(PYTHON_IN_VENV) -m tests.chaos $(if $(SEED),--seed $(SEED)) $(if $(SCENARIO),--scenario $(SCENARIO)) $(ARGS)

bench: ## speed, beside its floors (needs wrk); BASE=commit compares with a commit, PEER=program with another stack
	@.ci/install requirements-dev.txt
	@$(PYTHON_IN_VENV) -m tests.benchmarks $(if $(BASE),--base $(BASE)) $(if $(PEER),--peer $(PEER)) $(ARGS)

sizing: ## what one trigger, step, webhook … costs (needs wrk); ARGS=--write renews what `manage.py sizing` reads, and the docs
	@.ci/install requirements-dev.txt
	@$(PYTHON_IN_VENV) -m tests.benchmarks.sizing $(ARGS)

latency: ## how long callers, decisions and webhooks take at 10, 50 and 80 % of what the machine bears; ARGS=--write renews the docs
	@.ci/install requirements-dev.txt
	@$(PYTHON_IN_VENV) -m tests.benchmarks.latency $(ARGS)

growth: ## pages and processor time of calls, pages and workers in a large database; ARGS="--customers 1000000" says how large
	@.ci/install requirements-dev.txt
	@$(PYTHON_IN_VENV) -m tests.benchmarks.growth $(ARGS)

fuzz: ## 1,000 requests made from the OpenAPI document for every call; FUZZ_EXAMPLES chooses another number
	@.ci/install requirements-dev.txt
	@TEST_DATABASE_NAME=test_engage_$$$$ FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-1000} \
		$(PYTHON_IN_VENV) -m pytest --numprocesses auto --dist worksteal tests/abuse/test_fuzz.py tests/bridge/messages/test_any_call.py tests/journeys/rendering/test_fuzz.py tests/journeys/test_any_combination.py $(ARGS)

format: ## what ruff and prettier can mend by themselves
	@.ci/install requirements-dev.txt
	@$(PYTHON_IN_VENV) -m ruff check --quiet --fix-only .
	@$(PYTHON_IN_VENV) -m ruff format .
	@.ci/javascript format

lint: ## ruff: rules and format; import rules; prettier, for JavaScript
	@.ci/install requirements-dev.txt
	@$(PYTHON_IN_VENV) -m ruff check .
	@$(PYTHON_IN_VENV) -m ruff format --check .
	@.venv/bin/lint-imports --no-logo
	@.ci/javascript lint

types: ## mypy, and tsc for the JavaScript of pages, strictly
	@.ci/install requirements-dev.txt
	@$(PYTHON_IN_VENV) -m mypy .
	@.ci/javascript types

check: ## all that has to hold before a change goes in
	@COVERAGE=yes ENDS=yes .ci/run

lock: ## write down the versions with their hashes; ARGS=--upgrade chooses the newest allowed ones anew
	@.ci/install requirements-dev.txt
	@$(PYTHON_IN_VENV) -m pip install --quiet uv
	@$(COMPILE) pyproject.toml -o requirements.txt
	@$(COMPILE) pyproject.toml --extra embedded -c requirements.txt -o requirements-embedded.txt
	@$(COMPILE) pyproject.toml --extra embedded --extra dev -c requirements-embedded.txt -o requirements-dev.txt
	@for extra in oidc otel sentry; do \
		$(COMPILE) pyproject.toml --extra $$extra -c requirements-dev.txt -o requirements-$$extra.txt || exit 1; done
	@$(COMPILE) $(CLIENTS)/requirements.in -o $(CLIENTS)/requirements.txt
	@$(COMPILE) $(CLIENTS)/generator.in -o $(CLIENTS)/generator.txt

clients: ## clients of openapi-generator in seven languages, made and run against the service; .ci/languages names what they need
	@.ci/install requirements-dev.txt
	@.ci/install-node
	@$(PYTHON_IN_VENV) -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $(CLIENTS)/generator.txt
	@CLIENTS=yes TEST_DATABASE_NAME=test_engage_$$$$ $(PYTHON_IN_VENV) -m pytest --numprocesses 2 --dist worksteal $(CLIENTS)/test_openapi_generator.py $(ARGS)

package: ## builds the wheel and tries it in an empty environment
	@.ci/install requirements-dev.txt
	@.ci/package

release: ## wheel, sdist, bill of materials, notes and checksums of this commit in dist/, and its tag
	@.ci/install requirements-dev.txt
	@.ci/release

image: ## the image of all processes, built by docker, podman or buildah; ARGS="--build-arg BASE=debian:12-slim" is passed on
	@deploy/image $(ARGS)

env: ## writes .env, which compose.yaml reads, with fresh secrets, unless it is there; SITE=engage.example names the service
	@test -n "$(SITE)" || { echo "SITE=engage.example make env"; exit 1; }
	@test ! -e .env || { echo ".env is there already."; exit 1; }
	@umask 077 && deploy/env "$(SITE)" >.env && echo "Wrote .env: keep a copy, its secrets are nowhere else."

licences: ## the dependencies' licences; LOCK=requirements-dev.txt has those of development as well
	@.ci/install requirements-dev.txt
	@$(PYTHON_IN_VENV) -m config.local.licences $(or $(LOCK),requirements.txt)

clean: ## what can be made again; the data in .data stay
	@rm -rf .venv .venv-newest $(CLIENTS)/node_modules bridge/browser/tools/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache staticfiles
	@find . -name __pycache__ -type d -not -path './.data/*' -prune -exec rm -rf {} +
