"""Each lie about upstream can be told, and the hook tells it to every process."""

import ast
import collections
import os
import pathlib
import subprocess
import sys

import pytest

from book.cells import pages
from tests.mutants.upstream import PATCHES, Patch, hook

# They repeat or list what other pages or records state, or are about the book itself.
WITHOUT = {
    "index",
    "carry-away",
    "compatibility",
    "names",
    "editions",
    "how-it-is-built",
    "how-it-is-checked",
}

SMALL = "def answer():\n    return 'as written'\n\n\nprint(answer())\n"


def source_of(module: str) -> str:
    """Return the source of an installed module, without an import of its parents."""
    place = module.replace(".", "/")
    for folder in map(pathlib.Path, sys.path):
        for path in (folder / f"{place}.py", folder / place / "__init__.py"):
            if path.exists():
                return path.read_text("utf-8")
    raise AssertionError(f"there is no module {module}")


@pytest.mark.parametrize(
    "patch", PATCHES, ids=[f"{n}-{p.module}" for n, p in enumerate(PATCHES)]
)
def test_a_patch_fits_once_and_changes_what_is_run(patch):
    source = source_of(patch.module)
    # The release has changed: look there for what the page states, or drop the patch.
    assert source.count(patch.before) == 1, patch.before
    changed = source.replace(patch.before, patch.after)
    # What does not compile would turn everything red, and show nothing.
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
    assert patch.page in pages()
    assert patch.why


def test_no_lie_is_told_twice():
    assert len(set(PATCHES)) == len(PATCHES)


def test_every_page_about_the_library_is_lied_to():
    told = collections.Counter(patch.page for patch in PATCHES)
    for page in set(pages()) - WITHOUT:
        assert told[page] >= 2, page


@pytest.fixture
def python(tmp_path):
    """Return a function that runs a Python that can import `small`, patched or not."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "small.py").write_text(SMALL, "utf-8")

    def run(*arguments: str, patch: Patch | None = None) -> subprocess.CompletedProcess:
        path = [str(folder)]
        if patch:
            hooks = tmp_path / "hook"
            hooks.mkdir(exist_ok=True)
            (hooks / "sitecustomize.py").write_text(hook(patch), "utf-8")
            path.insert(0, str(hooks))
        return subprocess.run(
            [sys.executable, *arguments],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    return run


def lie(**changes) -> Patch:
    fields = {"module": "small", "before": "'as written'", "after": "'changed'"}
    return Patch(**fields | changes, page="konfig")


IN_A_CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'small'])"


@pytest.mark.parametrize(
    "arguments", [("-c", "import small"), ("-m", "small"), ("-c", IN_A_CHILD)]
)
def test_the_hook_changes_a_module_in_every_process(arguments, python):
    run = python(*arguments, patch=lie())
    assert (run.stdout, run.stderr) == ("changed\n", "")


def test_byte_code_is_neither_believed_nor_left(python):
    printed = [
        python("-c", "import small", patch=patch).stdout
        for patch in (None, lie(), lie(after="'otherwise'"), None)
    ]
    assert printed == ["as written\n", "changed\n", "otherwise\n", "as written\n"]


def test_a_package_is_changed_and_still_has_its_modules(python, tmp_path):
    package = tmp_path / "modules" / "package"
    package.mkdir()
    (package / "__init__.py").write_text("name = 'old'\n", "utf-8")
    (package / "inner.py").write_text("from package import name\n", "utf-8")
    patch = lie(module="package", before="'old'", after="'new'")
    code = "import package.inner; print(package.inner.name)"
    assert python("-c", code, patch=patch).stdout == "new\n"


@pytest.mark.parametrize(("before", "times"), [("nowhere", 0), ("answer", 2)])
def test_a_patch_that_does_not_fit_is_an_error(before, times, python):
    run = python("-c", "import small", patch=lie(before=before))
    assert run.returncode == 1 and run.stdout == ""
    said = f"RuntimeError: the patch of small fits {times} times, not once: '{before}'"
    assert said in run.stderr
