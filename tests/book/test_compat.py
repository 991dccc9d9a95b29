"""What `make compat` does: its matrix, how it goes on, and two real combinations."""

import contextlib
import dataclasses
import doctest
import importlib.metadata
import json
import os
import pathlib
import sys

import pytest

from book.cells import DOCS
from compat import chapter, environments, kernels, matrix, record, run, tracebacks
from compat.chapter import Finding
from tests.book.front import FRONT, page

COMBINATIONS = matrix.read()
ONE = dataclasses.replace(COMBINATIONS["tutorial"], chapters=("page",))
PAGE = page("x = 1", "print(x)")
TRANSCRIPT = "## , cell 2\n    1\n"


def finding(kind: str) -> Finding:
    return Finding(section="a", line=1, cell=1, kind=kind, text="No: no")


# --- the matrix -----------------------------------------------------------------------


def test_the_matrix_has_what_was_promised():
    assert {"pinned", "newest", "main", "oldest", "typeguard"} < set(COMBINATIONS)
    released = {each.asked.get("kauldron", "") for each in COMBINATIONS.values()}
    assert {f"1.{minor}" for minor in range(5)} <= {v[:3] for v in released}
    for each in COMBINATIONS.values():
        assert each.why.endswith("."), each.name
    assert len(COMBINATIONS["newest"].chapters) > 30
    assert "compatibility" not in COMBINATIONS["newest"].chapters


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ('[a]\nwhy = "w"\nnumpy = "1"', "[a]: unknown numpy"),
        ('[a]\njax = "1"', "[a]: say why it is tried"),
        ('[a]\nwhy = "w"\ndate = "soon"', "Invalid isoformat string: 'soon'"),
        ('[a]\nwhy = "w"\nchapters = ["nope"]', "[a]: no chapter nope"),
        ('["A b"]\nwhy = "w"', "[A b]: a name has"),
        ("[a", "matrix.toml: "),
    ],
)
def test_a_matrix_that_is_wrong_is_refused_in_one_line(tmp_path, table, complaint):
    path = tmp_path / "matrix.toml"
    path.write_text(f'chapters = ["konfig"]\n{table}\n', "utf-8")
    with pytest.raises(SystemExit) as refused:
        matrix.read(path)
    assert complaint in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_names_that_are_none_are_answered_with_those_there_are():
    with pytest.raises(SystemExit, match=r"no combination 'nope'; there are: pinned,"):
        matrix.chosen(COMBINATIONS, "nope", "")
    with pytest.raises(SystemExit, match=r"no page 'nope'"):
        matrix.chosen(COMBINATIONS, "newest", "nope")
    (only,) = matrix.chosen(COMBINATIONS, "newest", "refs")
    assert only.chapters == ("refs",)


def test_a_disk_with_too_little_room_is_not_filled(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(environments, "FOLDER", environments.FOLDER / "not there")
    monkeypatch.setattr(pathlib.Path, "mkdir", lambda *a, **k: None)
    usage = type("usage", (), {"free": 5e9})
    monkeypatch.setattr(environments.shutil, "disk_usage", lambda path: usage)
    environments.say_what_it_takes([ONE])
    with pytest.raises(SystemExit, match="has not enough"):
        environments.say_what_it_takes([ONE, COMBINATIONS["newest"]])
    assert "up to 7.0 GB at once. Free: 5.0 GB" in capsys.readouterr().out
    environments.say_what_it_takes([ONE, COMBINATIONS["newest"]], at_once=False)


def test_what_is_asked_of_uv():
    oldest = dataclasses.replace(ONE, date="2025-10-01", asked={"kauldron": "1.4.4"})
    assert environments.limits(oldest) == [
        "--exclude-newer=2025-10-01",
        "--exclude-newer-package=kauldron=2100-01-01",
    ]
    assert "jax==0.10.2" in environments.asked(ONE)
    assert "kauldron" in environments.asked(COMBINATIONS["newest"])
    assert environments.asked(COMBINATIONS["etils-alone"]) == ["etils==1.14.0"]
    (main, *_) = environments.asked(COMBINATIONS["main"])
    assert main.endswith("/kauldron@main") and main.startswith("kauldron @ git+")


# --- going on where it was ------------------------------------------------------------


@pytest.fixture
def trying(monkeypatch, tmp_path):
    """Return what tries `ONE` with made-up versions, and the chapters it has run."""
    docs = tmp_path / "docs"
    kept = tmp_path / "tests" / "transcripts"
    for folder in (docs, kept):
        folder.mkdir(parents=True)
    for name in ("one", "two"):
        (docs / f"{name}.md").write_text(PAGE, "utf-8")
        (kept / f"{name}.txt").write_text(TRANSCRIPT, "utf-8")
    both = dataclasses.replace(ONE, chapters=("one", "two"))
    ran = []

    def try_with(versions, found=lambda page: [], **options):
        ran.clear()

        def install(combination):
            if isinstance(versions, Exception):
                raise versions
            return {"python": "3.12.1", **versions}

        def run_chapter(page, *arguments, **more):
            ran.append(page)
            return found(page)

        monkeypatch.setattr(environments, "install", install)
        monkeypatch.setattr(chapter, "run", run_chapter)
        monkeypatch.setattr(kernels, "warm_if_it_can", contextlib.nullcontext)
        kept = record.Record(tmp_path / "compat.json")
        run.try_all([both], kept, docs=docs, **options)
        entry = json.loads((tmp_path / "compat.json").read_text())["combinations"]
        return list(ran), entry["tutorial"]

    try_with.docs = docs
    return try_with


def test_a_run_that_was_interrupted_goes_on(trying):
    def interrupted(page):
        if page == "two":
            raise KeyboardInterrupt
        return [finding("differs")]

    with pytest.raises(KeyboardInterrupt):
        trying({"jax": "1"}, interrupted)
    ran, entry = trying({"jax": "1"})
    assert ran == ["two"]
    results = {page: each["result"] for page, each in entry["chapters"].items()}
    assert results == {"one": "differs", "two": "same"}


def test_a_chapter_runs_again_when_something_has_changed(trying):
    assert trying({"jax": "1"})[0] == ["one", "two"]
    assert trying({"jax": "1"})[0] == []
    assert trying({"jax": "1"}, again=True)[0] == ["one", "two"]
    assert trying({"jax": "1", "chex": "2"})[0] == ["one", "two"]  # not recorded
    (trying.docs / "two.md").write_text(PAGE.replace("x = 1", "x = 2"), "utf-8")
    assert trying({"jax": "1", "chex": "2"})[0] == ["two"]
    (trying.docs / "two.md").write_text(
        PAGE.replace("x = 1", "x = 2") + "\nWords.\n", "utf-8"
    )
    assert trying({"jax": "1", "chex": "2"})[0] == []


def test_two_runs_at_once_lose_nothing_of_each_other(tmp_path):
    versions = {"python": "3.12.1", "jax": "1"}
    first, second = (record.Record(tmp_path / "compat.json") for _ in range(2))
    newest = COMBINATIONS["newest"]
    first.begin(ONE, versions)
    second.begin(newest, versions)
    first.add(ONE, "one", "key", [])
    second.add(newest, "refs", "key", [])
    assert first.has(newest, "refs", "key") and second.has(ONE, "one", "key")


def test_what_cannot_be_installed_is_a_result(trying):
    said = environments.CannotInstall("  No solution found\n  because")
    ran, entry = trying(said)
    assert ran == [] and not entry["installed"]
    assert entry["error"] == "  No solution found\n  because"


def test_a_network_that_is_down_replaces_no_result(trying):
    trying({"jax": "1"})
    down = environments.CannotInstall("error: tcp connect error: Connection refused")
    assert trying(down)[1]["installed"]
    gone = environments.CannotInstall("No solution found")
    assert not trying(gone)[1]["installed"]


def test_a_chapter_fails_if_a_cell_does():
    assert chapter.result_of([]) == "same"
    assert chapter.result_of([finding("differs"), finding("claim")]) == "differs"
    assert chapter.result_of([finding("claim"), finding("fails")]) == "fails"


def test_a_long_traceback_is_cut_and_keeps_its_end():
    text = tracebacks.cut([f"line {n} {'x' * 400}" for n in range(99)])
    assert len(text.splitlines()) == tracebacks.LINES
    assert "line 98" in text.splitlines()[-1] and max(map(len, text.split("\n"))) == 300


@pytest.mark.parametrize("module", [chapter, tracebacks])
def test_the_examples_of_its_modules_are_right(module):
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


# --- in a kernel of another environment -----------------------------------------------

SECTIONS = (
    FRONT
    + """
(page)=
# Title

```{code-cell} python
def twice(x):
    return 2 * x

print("fine")
```

% invisible-code-block: python
%
% assert twice(2) == 4

(page-breaks)=
## Breaks

```{code-cell} python
from snippets.showing import no_such_name

y = no_such_name(1)
print(y)
```

```{code-cell} python
print(y + 1)
```

```{code-cell} python
from snippets.showing import no_such_name
```

```{code-cell} python
print(twice(4))
```

% invisible-code-block: python
%
% a = twice(1)
% assert a == 3
"""
)
PRINTED = """
## page, cell 1
    fine

## page-breaks, cell 1
    1

## page-breaks, cell 2
    2

## page-breaks, cell 4
    7
"""


def test_what_a_page_shows_otherwise_is_found_and_nothing_else():
    found = chapter.run("page", SECTIONS, PRINTED, pathlib.Path(sys.executable))
    lines = SECTIONS.split("\n")
    places = [(f.section, f.cell, f.kind, lines[f.line - 1]) for f in found]
    assert places == [
        ("page-breaks", 1, "fails", "from snippets.showing import no_such_name"),
        ("page-breaks", 4, "differs", "print(twice(4))"),
        ("page-breaks", 0, "claim", "% assert a == 3"),
    ]
    fails, differs, claim = found
    assert fails.again == 1  # the third cell; the second only lacks a name
    assert fails.text.splitlines()[-1].startswith("ImportError: cannot import name")
    assert differs.text == "- 7\n+ 8"
    assert "assert a == 3" in claim.text and "AssertionError" in claim.text


def test_a_kernel_that_does_not_start_is_said():
    found = chapter.run("page", SECTIONS, PRINTED, pathlib.Path("/bin/false"))
    assert [f.kind for f in found] == ["fails"]
    assert "no kernel" in found[0].text


@pytest.mark.parametrize(
    ("name", "result"), [("etils-alone", "fails"), ("etils-alone-patched", "same")]
)
def test_one_that_is_known_to_break_does_and_one_that_is_known_to_work_works(
    monkeypatch, tmp_path, name, result
):
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    combination = dataclasses.replace(COMBINATIONS[name], chapters=("kontext",))
    kept = record.Record(tmp_path / "compat.json")
    run.try_all([combination], kept, docs=DOCS)
    entry = json.loads(kept.path.read_text())["combinations"][name]
    if not entry["installed"] and not os.environ.get("CI"):
        pytest.skip(f"no etils 1.14.0 can be had: {entry['error']}")
    assert entry["versions"]["etils"] == "1.14.0"
    assert entry["versions"]["jax"] == importlib.metadata.version("jax")
    assert entry["chapters"]["kontext"]["result"] == result
    texts = [each["text"] for each in entry["chapters"]["kontext"]["findings"]]
    if result == "fails":
        assert texts[0].endswith("module 'jax._src' has no attribute 'prng'")


def test_where_not_all_can_be_imported_kernels_are_no_forks(capsys):
    with kernels.warm_if_it_can(pathlib.Path("/bin/false")) as forks:
        assert not forks and "BOOK_WARM" not in os.environ
    assert "started anew" in capsys.readouterr().out


@pytest.mark.proof
def test_forks_of_another_environment_find_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    monkeypatch.setenv("BOOK_WARM", "/of/the/book/itself")  # which is another's
    both = dataclasses.replace(
        COMBINATIONS["etils-alone"], chapters=("konfig", "kontext")
    )
    kept = record.Record(tmp_path / "compat.json")
    forked = []
    execute = kernels._execute
    monkeypatch.setattr(
        kernels,
        "_execute",
        lambda *a, forks: forked.append(forks) or execute(*a, forks),
    )
    run.try_all([both], kept, docs=DOCS)
    assert forked == [True, True]
    chapters = json.loads(kept.path.read_text())["combinations"][both.name]["chapters"]
    results = {page: found["result"] for page, found in chapters.items()}
    assert results == {"konfig": "same", "kontext": "fails"}
    assert os.environ["BOOK_WARM"] == "/of/the/book/itself"
