"""The examples in the docstrings of what the workflows run."""

import doctest
import importlib
import sys

import pytest

MODULES = ["issue", "links", "lock_note", "markdown", "runs", "watch"]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_true(name):
    tried = doctest.testmod(importlib.import_module(f"compat.{name}"))
    assert tried.attempted and not tried.failed


@pytest.mark.parametrize("name", [*MODULES, "github", "lock_request"])
def test_nothing_but_the_standard_library_is_needed(root, name):
    # The jobs that may write to the repository install no package.
    code = f"import sys, compat.{name} as m; print(*sys.modules, sep='\\n')"
    import subprocess

    run = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    tops = {module.partition(".")[0] for module in run.stdout.split()}
    assert tops - sys.stdlib_module_names - {"__main__", "compat"} == set()
