"""The projects to copy are what the pages run, and say with which versions.

A page can only run what is below `snippets/`, and a reader wants a folder that stands
alone; so each module of the project is there twice, and held to be the same. Beside the
other tests of the chapter it would turn red for every lie that is told in a module.
"""

import importlib.metadata
import tomllib

import pytest

from book.cells import ROOT

MODULES = ("data", "finetune", "metrics", "model", "pretrain", "serving", "sweep")
PROJECT = ROOT / "examples" / "fine_tune"


def of_the_project(name: str) -> str:
    """Return a module of the chapter *fine-tune* as its project has it."""
    text = (ROOT / "snippets" / f"fine_tune_{name}.py").read_text("utf-8")
    return text.replace("snippets.fine_tune_", "digits.")


def write() -> None:
    """Write the project's modules anew."""
    for name in MODULES:
        path = PROJECT / "digits" / f"{name}.py"
        path.write_text(of_the_project(name), "utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_a_project_is_what_the_page_runs(name):
    text = (PROJECT / "digits" / f"{name}.py").read_text("utf-8")
    # After a change of the snippet: .venv/bin/python -m tests.book.test_examples
    assert text == of_the_project(name)


def test_a_project_has_no_other_modules():
    found = {path.stem for path in (PROJECT / "digits").glob("*.py")}
    assert found == {*MODULES, "__init__"}


def test_its_pins_are_what_the_book_runs_with():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    pins = project["project"]["dependencies"] + project["dependency-groups"]["test"]
    for pin in pins:
        name, _, version = pin.partition("==")
        assert importlib.metadata.version(name) == version


if __name__ == "__main__":
    write()
