"""Names in sentences: those that lead nowhere are refused, all others are listed."""

import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import textwrap
import types

import pytest
from bs4 import BeautifulSoup
from kauldron import kd

from book import names_page, resolving, warm
from book.cells import DOCS, cells
from book.names import read
from book.public import define, modules, public
from book.reading import unexecuted
from tests.book.front import FRONT

PAGE = (
    FRONT
    + """(index)=
# Names

```{code-cell} python
from kauldron import konfig, kontext

cfg = konfig.ConfigDict({"n": 1})
print(cfg, kontext.Path)
```

A right one: `konfig.ConfigDict`, and one with a call, `konfig.ConfigDict()`.

A wrong one: `konfig.ConfigDicts`.

A sentence over two lines, and on the second of them
a wrong one with a call, `konfig.solve()`.

A wrong one in an index: `list[kontext.Paths]`.

| a table | of names |
|---|---|
| right | `np.float32` |
| wrong | `np.float3` |

No name: `cfg`. A bare one: `Path`.

It is absent: {absent}`konfig.solve`.

It is not absent: {absent}`konfig.resolve`.

A parameter: {field}`konfig.resolve.freeze`, and {field}`~konfig.placeholder.required`.

No parameter: {field}`konfig.resolve.frozen`.

Without an owner: {field}`resolve`.

Not a name: {field}`two words`.

(index-list)=
## List

```{names} konfig
```

```{names} kontext
```
"""
)

WRONG = {
    "A wrong one: ": "kauldron.konfig has no ConfigDicts; correct it, or mark it as",
    "a wrong one with a call": "kauldron.konfig has no solve; correct it",
    "A wrong one in an index": "kauldron.kontext has no Paths",
    "| wrong": "numpy has no float3",
    "It is not absent": "konfig.resolve exists; mark it no longer as {absent}",
    "No parameter": "konfig.resolve has no frozen; correct it, or name another owner",
    "Without an owner": "resolve has no owner; write Owner.resolve",
    "Not a name": "{field} takes a name, such as Owner.name, not 'two words'",
}


@pytest.fixture(scope="module")
def bad(refused):
    said, out = refused({"index": PAGE})
    html = (out / "html" / "index.html").read_text("utf-8")
    return [line for line in said if "[book.name]" in line], html


def test_a_name_that_leads_nowhere_is_refused_with_file_and_line(bad):
    said, _ = bad
    for begins, message in WRONG.items():
        (number,) = [
            n for n, line in enumerate(PAGE.splitlines(), 1) if line.startswith(begins)
        ]
        assert any(
            line.startswith(f"index.md:{number}: ") and message in line for line in said
        ), (begins, said)
    assert len(said) == len(WRONG)


def test_the_roles_show_code(bad):
    html = BeautifulSoup(bad[1], "html.parser")
    shown = [code.get_text() for code in html.select("article p > code")]
    assert "konfig.resolve.freeze" in shown and "required" in shown
    assert shown.count("konfig.solve") == 1  # {absent}


def test_the_page_lists_what_is_run_and_what_is_said(bad):
    html = BeautifulSoup(bad[1], "html.parser")
    entries = {
        term.code.get_text(): (term, term.find_next_sibling("dd"))
        for term in html.select("dl.names dt")
    }
    term, places = entries["konfig.ConfigDict"]
    assert [a["href"] for a in places.select("a")] == ["#index"]
    assert places.get_text().startswith("run in index: top")
    assert "/blob/v1.4.4/kauldron/konfig/configdict_base.py#L" in term.a["href"]
    _, places = entries["konfig.placeholder.required"]
    assert places.get_text().startswith("named in index: top")
    assert "run in" in entries["kontext.Path"][1].get_text()
    assert "konfig.solve" not in entries


def test_fields_without_a_default_are_found():
    assert resolving.answer("field Trainer.model") == ""
    assert not hasattr(resolving.resolve("Trainer"), "model")
    assert resolving.answer("field Trainer.modell") == "Trainer has no modell"


def test_what_may_begin_a_name_can_be_imported():
    for alias, module in resolving.ALIASES.items():
        assert importlib.import_module(module), alias


def test_answers_are_kept_and_not_believed_after_a_change(tmp_path, monkeypatch):
    cache = tmp_path / "names.json"
    asked = []

    def ask(questions):
        asked.append(questions)
        return {question: "" for question in questions}

    monkeypatch.setattr(resolving, "_ask", ask)
    resolving.answers({"name a", "name b"}, cache)
    resolving.answers({"name a", "name c"}, cache)
    assert asked == [["name a", "name b"], ["name c"]]
    monkeypatch.setattr(resolving, "_key", lambda: "other versions")
    resolving.answers({"name a"}, cache)
    assert asked[-1] == ["name a"]
    cache.write_text('{"key": ')
    assert resolving.answers({"name a"}, cache) == {"name a": ""}


ASKED = {
    "name kd.train.Trainer": "",
    "name kontext.Paths": "kauldron.kontext has no Paths",
    "field Trainer.model": "",
    "absent konfig.resolve": "konfig.resolve exists",
}


def test_names_are_looked_up_in_a_fork(monkeypatch):
    with warm.shared_process(), monkeypatch.context() as only:
        only.setattr(subprocess, "run", None)  # no new process then
        assert resolving._ask([*ASKED]) == ASKED


def test_names_are_looked_up_without_one(monkeypatch):
    monkeypatch.setenv("BOOK_WARM", "/nowhere/warm")
    assert resolving._ask([*ASKED]) == ASKED


def test_a_fork_that_does_not_end_is_given_up(monkeypatch, tmp_path):
    (tmp_path / "sleeps.py").write_text("import time\nmain = lambda: time.sleep(60)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with warm.shared_process():
        warm.run("json.tool", "--help")  # from now on it answers at once
        monkeypatch.setattr(warm, "PATIENCE", 1)
        with pytest.raises(warm.WarmKernelsFailed, match="sleeps did not end"):
            warm.run("sleeps")


@pytest.fixture(scope="module")
def book():
    """The names of all pages, and the share that they explain."""
    with unexecuted() as doctrees:
        pages = {page: read(page, tree) for page, tree in doctrees.items()}
    return pages, names_page.explained(pages)


def test_each_name_of_the_book_leads_somewhere(book, tmp_path):
    # No answer of an earlier build; and not in this process, where a test may have
    # defined the flag that `kauldron.main` defines when it is imported.
    asked = [
        (page, line, question)
        for page, names in book[0].items()
        for line, question in names.asked
    ]
    assert len(asked) > 100
    questions = {question for _, _, question in asked}
    answers = resolving.answers(questions, tmp_path / "names.json")
    for page, line, question in asked:
        answer = answers[question]
        assert answer == "", f"docs/{page}.md:{line}: {answer}"


def test_the_share_of_explained_names_does_not_fall(book):
    record = json.loads(names_page.RECORD.read_text("utf-8"))
    differences = names_page.changes(record, book[1])
    accept = "run: .venv/bin/python -m book.names --accept"
    lost = [line for line in differences if line.startswith("- ")]
    assert not lost, (
        "no page both runs and mentions these any more; do so on one page, or, if they "
        f"are gone upstream, {accept}\n{lost}"
    )
    assert not differences, f"more is explained than recorded; {accept}\n{differences}"


# What the book has promised to explain, whatever a release adds: all, or nine in ten.
ALL = ("konfig", "kontext", "kauldron.typing")
NEARLY_ALL = ("data", "losses", "metrics", "train", "evals", "ckpts", "optim")
NEARLY_ALL += ("inspect", "summaries", "export", "nn")


def test_enough_names_of_each_module_are_explained(book):
    shares = {
        module: len(of["explained"]) / of["public"] for module, of in book[1].items()
    }
    assert [module for module in ALL if shares[module] < 1] == []
    assert [each for each in NEARLY_ALL if shares[f"kd.{each}"] < 0.9] == []


def test_every_name_of_sharding_is_run_on_its_page():
    # It is an object, not a module, and so not counted with the others.
    code = "\n".join(cell.source for cell in cells("sharding"))
    code += "\n".join(re.findall("^% (.*)", (DOCS / "sharding.md").read_text(), re.M))
    names = [name for name in dir(kd.sharding) if not name.startswith("_")]
    assert len(names) > 5
    assert [name for name in names if f"sharding.{name}" not in code] == []


def test_a_name_that_is_no_longer_explained_is_told(book):
    pages = dict(book[0])
    assert "ref_copy" in book[1]["konfig"]["explained"]
    del pages["refs"]
    told = names_page.changes(book[1], names_page.explained(pages))
    assert "- konfig.ref_copy" in told and not any(line[0] == "+" for line in told)


def test_all_names_that_a_page_knows_are_listed_on_one_of_its_lists(book, root):
    ran, said = names_page.places(book[0])
    text = (root / "docs" / "names.md").read_text("utf-8")
    lists = re.findall(r"^```\{names\} (\S+)$", text, re.M)
    assert lists
    for name in ran | said:
        on = [one for one in lists if f"{name}.".startswith(f"{one}.")]
        assert len(on) == 1, f"{name} is listed {len(on)} times on docs/names.md"


# The others take half a minute to import, or bring what no test needs.
QUICK = ("konfig", "kontext", "kauldron.typing", "kauldron.ktyping", "kd.train")
QUICK += ("kd.metrics", "kd.losses", "kd.evals", "kd.data", "kd.data.py", "kd.ckpts")


@pytest.mark.parametrize(
    "module",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.proof)
        for name in modules()
    ],
)
def test_what_is_read_from_the_source_is_what_an_import_gives(module):
    imported = importlib.import_module(modules()[module])
    ours = {name for name in public() if name.rpartition(".")[0] == module}
    for name in ours:
        found = getattr(imported, name.rpartition(".")[2])
        place = public()[name]
        with open(importlib.import_module(place.module).__file__) as file:
            lines = file.read().splitlines()[place.lines[0] - 1 : place.lines[1]]
        source = textwrap.dedent("\n".join(lines)).splitlines()
        # Not `Float = ...`; nor a class that type checkers are told another thing of,
        # which inspect takes for it before Python 3.13.
        is_checked = name not in ("kd.data.FilterTransform", "kd.data.MapTransform")
        if source[0].startswith(("class ", "def ", "@")) and is_checked:
            # A function that wraps another has two first lines: inspect gives the
            # other's, its code that of what it is made of.
            code = getattr(found, "__code__", None)
            first = {inspect.getsourcelines(found)[1], code and code.co_firstlineno}
            assert place.lines[0] in first, name
            assert any(f" {place.name}" in line for line in source), name
        elif is_checked:
            assert f"{place.name} = " in source[0] or f"{place.name}:" in source[0], (
                name
            )
    for name in dir(imported):
        found = getattr(imported, name)
        if f"{module}.{name}" in ours or name.startswith("_"):
            continue
        assert isinstance(found, types.ModuleType) or not (
            getattr(found, "__module__", "").startswith(imported.__name__)
        ), f"{module}.{name} is public, and not read"


def test_an_address_leads_to_the_lines_of_the_definition():
    place = define("kauldron.kd.train.Trainer")
    first, last = place.lines
    assert place.address().endswith(f"/kauldron/train/trainer_lib.py#L{first}-L{last}")
    assert define("kauldron.konfig").address().endswith("/kauldron/konfig/__init__.py")


ONE = FRONT + "(one)=\n# One\n\n```{code-cell} python\nfrom kauldron import kontext\n\n"


def test_the_list_follows_the_pages(root, build, tmp_path):
    docs, out = tmp_path / "docs", tmp_path / "out"
    docs.mkdir()
    toctree = "\n```{toctree}\n:glob:\n\n*\n```\n"
    pages = {
        "index": FRONT + "(index)=\n# Start\n" + toctree,
        "names": FRONT + "(names)=\n# Names\n\n```{names} kontext\n```\n",
        "one": ONE + "kontext.Path\n```\n",
        "two": FRONT + "(two)=\n# Another\n\nSee `kontext.Path`.\n",
    }
    for name, text in pages.items():
        (docs / f"{name}.md").write_text(text, "utf-8")

    def listed() -> dict[str, list[str]]:
        run = build(root, out, docs=str(docs))
        assert "[book.name]" not in run.stderr, run.stderr  # other checks may complain
        html = (out / "html" / "names.html").read_text("utf-8")
        terms = BeautifulSoup(html, "html.parser").select("dl.names dt")
        return {
            term.code.get_text(): [
                a["href"] for a in term.find_next_sibling("dd").select("a")
            ]
            for term in terms
        }

    assert listed() == {"kontext.Path": ["one.html#one", "two.html#two"]}
    before = (out / "html" / "names.html").stat().st_mtime_ns
    assert listed()  # nothing changed: nothing is written
    assert (out / "html" / "names.html").stat().st_mtime_ns == before
    (docs / "one.md").write_text(ONE + "kontext.GlobPath\n```\n", "utf-8")
    (docs / "two.md").unlink()
    assert listed() == {"kontext.GlobPath": ["one.html#one"]}
    # And from nothing it comes out the same.
    shutil.rmtree(out)
    assert listed() == {"kontext.GlobPath": ["one.html#one"]}
