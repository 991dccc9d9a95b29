# Kauldron, Executed. `make` alone lists what can be done.

SHELL := /bin/sh
.DEFAULT_GOAL := help

PYTHON := .venv/bin/python
STAMP  := .venv/.complete
SPHINX := -m sphinx --fail-on-warning -c .

# Byte code must be kept: without it every import of TensorFlow, in every kernel,
# takes two to three times as long.
unexport PYTHONDONTWRITEBYTECODE
# The user's own packages are none of ours.
unexport PYTHONPATH
export PYTHONNOUSERSITE := 1
export Q

# A copied folder or another BOOK_PYTHON needs a new environment, and so does one
# whose Python has been removed from the machine.
ifneq ($(shell test -x $(PYTHON) && cat $(STAMP) 2>/dev/null),$(shell printf '%s %s' "$$(pwd -P)" "$(BOOK_PYTHON)"))
$(shell rm -f $(STAMP))
endif

# A chapter's page is refs.md, its modules are refs.py and test_refs.py;
# loss-and-metric.md goes with loss_and_metric.py.
MODULE = $(subst -,_,$(K))
CHAPTER_TESTS = $(wildcard docs/$(K).md snippets/$(MODULE).py tests/test_$(MODULE).py)
PAGES = $(sort $(basename $(notdir $(wildcard docs/*.md))))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

$(STAMP): requirements.lock requirements-uv.lock pyproject.toml .python-version book/setup.sh
	@sh book/setup.sh

# A build that was killed, or that had warnings, leaves Sphinx's record of what is
# up to date in a state that the next build would believe; so that build starts anew.
.PHONY: html
html: $(STAMP) ## build the book into _build/html (PAGE=refs: only that page, into _build/page)
ifdef PAGE
	@test -f docs/$(PAGE).md || { echo "make: no page '$(PAGE)'; there are: $(PAGES)" >&2; exit 2; }
	@BOOK_PAGE=$(PAGE) $(PYTHON) $(SPHINX) --quiet --fresh-env -d _build/page/$(PAGE)/doctrees docs _build/page/$(PAGE)/html
else
	@if test -e _build/unfinished; then rm -rf _build/doctrees; fi
	@mkdir -p _build && touch _build/unfinished
	@$(PYTHON) $(SPHINX) --quiet -d _build/doctrees docs _build/html
	@rm _build/unfinished
endif

.PHONY: accept
accept: html ## keep what the pages print now, and show what changed (PAGE=refs)
	@$(PYTHON) -m book.transcripts --page=$(PAGE)
	@$(if $(PAGE),,$(PYTHON) -m book.anchors)

# Two processes, since each grows to 5 GB; a file is run by one of them, since the cells
# of a page need each other. (`loadgroup` would do nothing: pytest-xdist 3.8 names groups
# where pytest 9.2 does not look.)
BOTH := --numprocesses 2 --dist loadfile

.PHONY: test
test: $(STAMP) ## run every cell, doctest and check (K=refs: only that chapter)
ifdef K
	@test -n "$(CHAPTER_TESTS)" || { echo "make: no chapter '$(K)'; there are: $(PAGES)" >&2; exit 2; }
	$(PYTHON) -m pytest $(CHAPTER_TESTS)
else
	$(PYTHON) -m pytest $(BOTH)
endif

.PHONY: proof
proof: $(STAMP) ## run everything, also what takes long
	BOOK_PROOF=1 $(PYTHON) -m pytest $(BOTH)
	$(PYTHON) -m tests.mutants

.PHONY: mutants
mutants: $(STAMP) ## tell lies to a copy of the book and see what turns red (ONLY=refs)
	$(PYTHON) -m tests.mutants "$(ONLY)"

.PHONY: live
live: $(STAMP) ## serve the book on 127.0.0.1, rebuilding and reloading on every save
	@$(PYTHON) -m book.live

# Exported by make, so that quotes in an error message are no one's business.
.PHONY: link
link: $(STAMP) ## print addresses in the book (Q='an error message, a name, some words')
	@$(PYTHON) -m book.link

# Somewhere of its own: what another builder has read is no use to this one.
.PHONY: linkcheck
linkcheck: $(STAMP) ## ask other sites whether the book's links to them still lead anywhere
	@$(PYTHON) -m sphinx --builder linkcheck --quiet -c . -d _build/linkcheck/doctrees docs _build/linkcheck/found

.PHONY: lint
lint: $(STAMP) ## check the style of the code, in seconds
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

.PHONY: lock
lock: $(STAMP) ## compile requirements.lock anew from pyproject.toml, to the newest that fit
	.tools/bin/uv pip compile --quiet --upgrade --universal --python-version 3.12 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" pyproject.toml --group book --group test --group dev --output-file requirements.lock
	.tools/bin/uv pip compile --quiet --upgrade --universal --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --group bootstrap --output-file requirements-uv.lock

.PHONY: bench
bench: $(STAMP) ## measure the times that pages show as recorded (GROWTH=1: larger books too)
	$(PYTHON) -m book.bench
	$(PYTHON) -m book.bench_builds
	$(if $(GROWTH),$(PYTHON) -m book.bench_growth)

.PHONY: audit
audit: html ## measure what each page costs a reader: bytes, requests, times, as recorded
	$(PYTHON) -m book.audit

.PHONY: compat
compat: $(STAMP) ## run chapters under other versions, as recorded (ONLY=tutorial,newest CHAPTERS=refs)
	$(PYTHON) -m compat.run --only="$(ONLY)" --chapters="$(CHAPTERS)"
	$(if $(ONLY)$(CHAPTERS),,$(PYTHON) compat/etils_prng.py)
	$(if $(ONLY)$(CHAPTERS),,$(PYTHON) compat/older_kauldron.py)

.PHONY: compat-clean
compat-clean: ## remove the environments of `make compat`
	rm -rf _build/compat

.PHONY: clean
clean: ## remove what was built (.venv and .tools stay)
	rm -rf _build .pytest_cache .hypothesis .ruff_cache
