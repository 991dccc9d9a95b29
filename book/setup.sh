#!/bin/sh
# Makes .venv hold exactly what requirements.lock names, and the project itself.
# Called by the Makefile before anything else; safe to run again at any time.
#
#   .tools/          uv, in a virtual environment of its own
#   .venv/           the book's Python
#   .venv/.complete  written last, so a killed set-up is begun again
#
# BOOK_PYTHON chooses another supported Python than .python-version.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
fail() { say "set-up: $*"; exit 1; }

wanted=${BOOK_PYTHON:-$(cat .python-version)}
case $wanted in
  3.12 | 3.12.* | 3.13 | 3.13.*) ;;
  *) fail "Python $wanted is not supported; the book runs on 3.12 and 3.13 (BOOK_PYTHON, .python-version)." ;;
esac

# Kauldron needs TensorFlow, which decides where the book can run.
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64 | Darwin-arm64) ;;
  MINGW* | MSYS* | CYGWIN* | Windows*) fail "Windows is not supported; use a Linux under WSL 2." ;;
  *) fail "$(uname -s) on $(uname -m) is not supported: TensorFlow, which Kauldron needs, has no wheel for it. Use Linux on x86-64 or macOS on Arm." ;;
esac

# --- uv, never into the user's Python ----------------------------------------
if ! cmp -s requirements-uv.lock .tools/installed.lock; then
  python=$(command -v python3 || command -v python) ||
    fail "no Python found. Install Python 3.12 (Debian and Ubuntu: apt install python3.12 python3.12-venv; macOS: brew install python@3.12)."
  say "set-up: installing uv into .tools"
  rm -rf .tools
  "$python" -m venv .tools >/dev/null 2>&1 ||
    fail "$("$python" --version 2>&1) at $python cannot make a virtual environment. Debian and Ubuntu: apt install python3-venv."
  .tools/bin/python -m pip install --quiet --disable-pip-version-check \
    --require-hashes --requirement requirements-uv.lock ||
    fail "pip could not install uv (see above)."
  cp requirements-uv.lock .tools/installed.lock
fi
uv=.tools/bin/uv

# --- the book's Python ---------------------------------------------------------
# The wanted one if it is here, else fetched, else the other supported one.
# uv's own words on each attempt are kept back: the one line below says more.
make_venv() { "$uv" venv --quiet --clear --no-project --python "$1" $2 .venv 2>/dev/null; }

if ! .venv/bin/python -c "import sys; sys.exit(not '$wanted.'.startswith('%d.%d.' % sys.version_info[:2]))" 2>/dev/null; then
  rm -rf .venv
  if ! make_venv "$wanted" --no-python-downloads && ! make_venv "$wanted" ""; then
    found=$(python3 --version 2>&1 || python --version 2>&1 || echo "no Python")
    [ -z "${BOOK_PYTHON:-}" ] && make_venv 3.13 --no-python-downloads ||
      fail "found $found, but no Python $wanted, and uv could not fetch one. Install it (Debian and Ubuntu: apt install python3.12 python3.12-venv; macOS: brew install python@3.12; pyenv: pyenv install 3.12) and run make again."
    say "set-up: no Python $wanted here; using 3.13"
  fi
fi

say "set-up: installing requirements.lock into .venv ($(.venv/bin/python --version))"
"$uv" pip sync --quiet --python .venv/bin/python --require-hashes requirements.lock ||
  fail "the packages of requirements.lock could not be installed (see above)."
# hatchling is in the lock, so that this downloads nothing more.
"$uv" pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable . ||
  fail "the project itself could not be installed (see above)."

# The path is part of the stamp: the project is installed in place, so a folder
# that was moved or copied would import the snippets of its former self.
printf '%s %s\n' "$(pwd -P)" "${BOOK_PYTHON:-}" >.venv/.complete
