"""Executed pages are kept exactly as long as they would come out the same."""

import os
import pathlib
import shutil

import pytest

from book import store
from book.cells import ROOT
from book.running import run_pages
from book.store import Store, key
from tests.book.front import BARE

PAGE = BARE + "# Title\n\nWords.\n\n```{code-cell} python\nprint(6 * 7)\n```\n"


@pytest.fixture
def kept(tmp_path):
    """A store that holds PAGE."""
    ((notebook, failure, seconds),) = run_pages({"docs/page.md": PAGE}, 1).values()
    assert failure is None
    found = Store(tmp_path / "store")
    found.save("docs/page.md", PAGE, notebook, seconds)
    return found


def entry(kept: Store) -> pathlib.Path:
    (path,) = kept.folder.glob("*.json")
    return path


def test_what_ran_is_found_again_under_other_words(kept):
    other = PAGE.replace("Words.", "Other words,\n\n## and a heading")
    notebook = kept.load(other)
    assert notebook.cells[-1].outputs[0].text == "42\n"
    assert notebook.cells[-1].execution_count == 1
    assert "and a heading" in notebook.cells[0].source
    assert notebook.metadata.language_info.pygments_lexer == "ipython3"
    assert kept.load(PAGE.replace("6 * 7", "6 * 8")) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text(path.read_text().replace("42", "43")),
        lambda path: path.write_bytes(path.read_bytes()[:-20]),
        lambda path: path.write_bytes(b"\xff\xfe"),
        lambda path: path.write_text(""),
        lambda path: path.unlink(),
    ],
    ids=["altered", "cut", "bytes", "emptied", "deleted"],
)
def test_a_damaged_entry_is_not_used(damage, kept):
    damage(entry(kept))
    assert kept.load(PAGE) is None


def test_the_oldest_go_first(kept, monkeypatch):
    monkeypatch.setattr(store, "ENTRIES", 2)
    for age, name in enumerate("abc", 1):
        path = kept.folder / f"{name}.json"
        path.write_text("")
        os.utime(path, (1000 - age, 1000 - age))
    notebook = kept.load(PAGE)
    kept.save("docs/page.md", PAGE, notebook, 1.0)
    assert len(list(kept.folder.glob("*.json"))) == 2
    assert (kept.folder / "a.json").exists()
    assert not list(kept.folder.glob("*.part"))


def test_a_full_disk_costs_the_entry_and_not_the_build(kept, monkeypatch, capsys):
    notebook = kept.load(PAGE)
    entry(kept).unlink()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "replace", full)
    kept.save("docs/page.md", PAGE, notebook, 1.0)
    assert "No space left on device" in capsys.readouterr().err
    assert not list(kept.folder.glob("*.json")) + list(kept.folder.glob("*.part"))


def test_whatever_decides_the_output_is_part_of_the_key(tmp_path, monkeypatch):
    for name in ("snippets", "book"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    page = PAGE.replace("6 * 7", "recorded('steps')").replace(
        "print", "from snippets.install import recorded\nprint"
    )
    keys = [key(page, tmp_path)]
    assert keys == [key(page)]  # the folder is not
    for name in (
        "snippets/install.py",
        "snippets/recorded/steps.json",
        "requirements.lock",
        "book/running.py",
    ):
        path = tmp_path / name
        path.write_text(path.read_text("utf-8") + "\n", "utf-8")
        keys.append(key(page, tmp_path))
    untouched = tmp_path / "snippets" / "refs.py"
    untouched.write_text(untouched.read_text("utf-8") + "\n", "utf-8")
    assert key(page, tmp_path) == keys[-1]
    for change in (
        lambda: monkeypatch.setattr(store, "installed", lambda: [("jax", "0")]),
        lambda: monkeypatch.setattr(store.sys, "version", "3.99"),
        lambda: monkeypatch.setitem(store.ENVIRONMENT, "JAX_PLATFORMS", "tpu"),
    ):
        change()
        keys.append(key(page, tmp_path))
    assert len(set(keys)) == len(keys) == 8
