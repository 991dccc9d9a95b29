"""What the kernels have just printed is what the committed transcripts say."""

import os
import subprocess
import sys

import nbformat
import pytest

from book.cells import cells, pages
from book.running import run_pages
from book.transcripts import (
    KEPT,
    KEPT_FOR,
    OTHER_PYTHON,
    NoDataError,
    accept,
    compare,
    differences,
    errors,
    printed,
    remove_others,
    transcript,
    unexpected,
    unpaired,
    unused,
)
from tests.book.front import BARE

PYTHON = sys.version_info[:2]


@pytest.mark.parametrize("page", pages())
def test_a_page_prints_what_its_transcript_says(page, built):
    run, out = built
    assert run.returncode == 0, run.stderr
    new = (out / "transcripts" / f"{page}.txt").read_text("utf-8")
    kept = (KEPT / f"{page}.txt").read_text("utf-8")
    found = unexpected(compare(page, kept, new), PYTHON)
    # Read the difference; if the page is still right, run: make accept
    assert not found, "\n\n".join(["", *found])


@pytest.mark.skipif(PYTHON == KEPT_FOR, reason="the list is for other Pythons")
def test_what_is_listed_for_another_python_differs(built):
    found = []
    for page in pages():
        new = (built[1] / "transcripts" / f"{page}.txt").read_text("utf-8")
        found += compare(page, (KEPT / f"{page}.txt").read_text("utf-8"), new)
    assert unused(found) == []


def test_every_page_has_a_transcript_and_every_transcript_a_page():
    assert unpaired() == []


def test_a_page_without_transcript_and_a_transcript_without_page_are_named(tmp_path):
    docs, kept = tmp_path / "docs", tmp_path / "tests" / "transcripts"
    docs.mkdir()
    kept.mkdir(parents=True)
    (docs / "new.md").touch()
    (kept / "old.txt").touch()
    assert unpaired(docs, kept) == [
        "docs/new.md:1: no transcript; run `make accept PAGE=new`",
        "tests/transcripts/old.txt:1: no such page; run `make accept`",
    ]


def test_transcripts_hold_what_the_pages_print():
    texts = {page: (KEPT / f"{page}.txt").read_text("utf-8") for page in pages()}
    for page, text in texts.items():
        assert text.startswith(f"# What the cells of docs/{page}.md print")
        assert f"## {page}" in text and "/tmp/page" not in text
        assert len(errors_of(page, text)) == len(cells(page))
    assert "glued end of short: 9.549e-05" in texts["refs"]
    assert "line 200 steps, schedule frozen" in texts["refs"]


def errors_of(page: str, text: str) -> list[str]:
    from book.cells import DOCS

    return errors((DOCS / f"{page}.md").read_text("utf-8"), text)


# --- what a transcript holds ------------------------------------------------------

PAGE = (
    BARE
    + """(page)=
# Title

```{code-cell} python
import sys
from myst_nb import glue

print("rate", 9.549e-05)
print("steps 200, share 0.5", flush=True)
print("not for readers", file=sys.stderr)
print("object at 0x7f31a2b3c4d5 in /tmp/page-1/run")
"the value"
```

```{code-cell} python
nothing = None
```

(page-old)=
(page-more)=
## More

```{code-cell} python
:tags: [remove-cell]

glue("figure", "1.250", display=False)
glue("message", "'x' is missing", display=False)
print("hidden")
```

```{code-cell} python
:tags: [raises-exception]

1 / 0
```

```{code-cell} python
from matplotlib.figure import Figure
from snippets.showing import Picture

figure = Figure()
axes = figure.subplots()
axes.plot([0, 10], [0.5, 0.25], label="loss")
axes.bar([1], [2.0])
axes.annotate("here", (1, 2))
Picture(figure, "loss falls")
```
"""
)

TRANSCRIPT = """# What the cells of docs/page.md print; `make accept` writes it.

## page, cell 1
    rate 9.549e-05
    steps 200, share 0.5
    object at 0x… in /tmp/…
    'the value'

## page-more, cell 1
    glued figure: 1.250
    glued message: 'x' is missing

## page-more, cell 2
    raised ZeroDivisionError: division by zero

## page-more, cell 3
    picture
    loss falls
    line loss
      0: 5.00e-01, 10: 2.50e-01
    bar 8.00e-01 wide, 2.00e+00 high
    at 1.00, 2.00 to 1.00, 2.00: here
"""


@pytest.fixture(scope="module")
def notebook() -> nbformat.NotebookNode:
    ((notebook, failure, _),) = run_pages({"docs/page.md": PAGE}, jobs=1).values()
    assert failure is None
    return notebook


def test_a_transcript_says_what_a_reader_sees(notebook):
    assert transcript("page", notebook) == TRANSCRIPT
    assert differences("page", notebook, TRANSCRIPT) == []
    assert errors(PAGE, TRANSCRIPT) == ["", "", "", "ZeroDivisionError", ""]


@pytest.mark.parametrize(
    ("old", "new", "cell"),
    [
        ("9.549e-05", "9.551e-05", "page, cell 1"),
        ("9.549e-05", "9.549e-06", "page, cell 1"),
        ("9.549e-05", "9.55e-05", "page, cell 1"),
        ("9.549e-05", "-9.549e-05", "page, cell 1"),
        ("steps 200", "steps 201", "page, cell 1"),
        ("share 0.5", "share 0.4", "page, cell 1"),
        ("'the value'", "'The value'", "page, cell 1"),
        ("1.250", "1.252", "page-more, cell 1"),
        ("ZeroDivisionError", "ValueError", "page-more, cell 2"),
        ("division by zero", "division by nothing", "page-more, cell 2"),
        ("10: 2.50e-01", "10: 2.55e-01", "page-more, cell 3"),
        ("    'the value'\n", "", "page, cell 1"),
        (
            "## page-more, cell 2\n    raised ZeroDivisionError: division by zero\n\n",
            "",
            "page-more, cell 2",
        ),
    ],
)
def test_a_difference_is_shown_with_page_section_and_cell(notebook, old, new, cell):
    kept = TRANSCRIPT.replace(old, new)
    assert kept != TRANSCRIPT
    (found,) = differences("page", notebook, kept)
    first, *lines = found.splitlines()
    assert first == f"docs/page.md, section {cell}:"
    # Only what differs is shown.
    assert len(lines) <= 2 and all(line.startswith(("  - ", "  + ")) for line in lines)
    assert any(old.strip().splitlines()[-1].strip() in line for line in lines)


@pytest.mark.parametrize(("old", "new"), [("9.549", "9.550"), ("1.250", "1.249")])
def test_one_in_the_last_digit_shown_is_no_difference(notebook, old, new):
    assert differences("page", notebook, TRANSCRIPT.replace(old, new)) == []


@pytest.mark.parametrize(
    ("old", "new", "alike"),
    [
        ("9.999e-04", "1.000e-03", True),
        ("a   9.999|", "a  10.000|", True),
        ("a 9.999.", "a 10.000.", True),
        ("a   9.999|", "a 10.000|", False),
        ("0.0099", "0.0100", False),  # two digits are too few
        ("-0.0001", "0.0001", False),
        ("etils 1.15.0", "etils 1.14.0", False),
        ("Python 3.12", "Python 3.13", False),
        ("f32.123", "f32.124", False),
        ("0.30000001", "0.3000000", False),
        ("x 1.234, y 5.678", "x 1.234, y 5.670", False),
        ("x 1.234", "x 1.234 y", False),
        ("1.234 1.234", "1.234", False),
    ],
)
def test_what_counts_as_alike(old, new, alike):
    head = "## page, cell 1\n    "
    assert (compare("page", head + old, head + new) == []) is alike


def test_a_picture_that_is_no_picture_of_ours_is_refused():
    image = nbformat.v4.new_output(
        "display_data", data={"image/png": "", "text/plain": "<Figure>"}
    )
    cell = nbformat.v4.new_code_cell("1", outputs=[image])
    with pytest.raises(NoDataError, match="image/png"):
        transcript("page", nbformat.v4.new_notebook(cells=[cell]))


def test_another_python_may_differ_where_it_is_listed():
    (listed, *_) = OTHER_PYTHON
    other = "docs/refs.md, section refs, cell 1:\n  - a\n  + b"
    found = [f"{listed}:\n  - 1\n  + 2", other]
    assert unexpected(found, (3, 13)) == [other]
    assert unexpected(found, KEPT_FOR) == found
    assert unused(found) == sorted(set(OTHER_PYTHON) - {listed})


@pytest.mark.parametrize(
    ("section", "pattern", "said"),
    [
        ("more", r"glued figure: (\S+)", "1.250"),
        ("more", r"picture (loss \w+)", "loss falls"),  # over two lines
        ("more", r"glued nothing: (\S+)", "gives set()"),
        ("more", r"glued (\w+): ", "gives {'"),
        ("nowhere", r"(.*)", "gives set()"),
    ],
)
def test_a_page_may_take_one_thing_that_another_has_printed(
    section, pattern, said, tmp_path
):
    (tmp_path / "page.txt").write_text(TRANSCRIPT, "utf-8")
    if said.startswith("gives"):
        with pytest.raises(LookupError, match="section: page-") as error:
            printed("page", section, pattern, tmp_path)
        assert said in str(error.value)
    else:
        assert printed("page", section, pattern, tmp_path) == said


def test_a_page_that_takes_from_one_without_transcript_says_so(tmp_path):
    with pytest.raises(LookupError, match="make accept PAGE=page"):
        printed("page", "more", "(.*)", tmp_path)


# --- make accept ------------------------------------------------------------------


def test_accepting_writes_what_was_printed_and_says_what_changed(tmp_path):
    built, kept = tmp_path / "built", tmp_path / "kept"
    built.mkdir()
    (built / "page.txt").write_text(TRANSCRIPT, "utf-8")
    assert accept(built, kept, ["page"]) == ["page.txt: new"]
    assert (kept / "page.txt").read_text("utf-8") == TRANSCRIPT
    assert accept(built, kept, ["page"]) == []
    changed = TRANSCRIPT.replace("steps 200", "steps 201")
    (built / "page.txt").write_text(changed, "utf-8")
    (said,) = accept(built, kept, ["page"])
    assert said == "\n".join(
        [
            "docs/page.md, section page, cell 1:",
            "  - steps 200, share 0.5",
            "  + steps 201, share 0.5",
        ]
    )
    assert (kept / "page.txt").read_text("utf-8") == changed
    (built / "page.txt").write_text(changed.replace("9.549", "9.550"), "utf-8")
    assert accept(built, kept, ["page"]) == ["page.txt: in the last digits"]
    assert os.listdir(kept) == ["page.txt"]


def test_the_transcript_of_a_page_that_is_gone_is_removed(tmp_path):
    for name in ("here", "gone"):
        (tmp_path / f"{name}.txt").touch()
    assert remove_others(tmp_path, ["here"]) == [
        "gone.txt: removed, there is no such page"
    ]
    assert os.listdir(tmp_path) == ["here.txt"]


@pytest.fixture(scope="module")
def copy(copy_of_book, root):
    """A copy of the book that runs with the packages of this one."""
    copy = copy_of_book()
    (copy / "accept").write_text(
        f"cd {str(copy)!r} && mkdir -p _build && "
        f"BOOK_PAGE=$1 {sys.executable} -m sphinx --fail-on-warning --quiet --no-color "
        "-c . -d _build/page/$1/doctrees docs _build/page/$1/html && "
        f"{sys.executable} -m book.transcripts --page=$1"
    )
    return copy


@pytest.mark.skipif(PYTHON != KEPT_FOR, reason="transcripts are of another Python")
def test_a_page_whose_cell_fails_is_not_accepted(copy):
    def accepted() -> subprocess.CompletedProcess:
        return subprocess.run(
            ["sh", "accept", "refs"], cwd=copy, capture_output=True, text=True
        )

    page = copy / "docs" / "refs.md"
    kept = copy / "tests" / "transcripts" / "refs.txt"
    before, whole = kept.read_text("utf-8"), page.read_text("utf-8")
    run = accepted()
    assert "Every output is as it was." in run.stdout, run.stderr
    page.write_text(whole.replace("num_train_steps = 200", "num_train_steps = 2 / 0"))
    run = accepted()
    assert run.returncode and "ZeroDivisionError" in run.stderr
    assert kept.read_text("utf-8") == before
    page.write_text(whole.replace("num_train_steps = 200", "num_train_steps = 300", 1))
    run = accepted()
    assert run.returncode == 0, run.stderr
    assert "docs/refs.md, section refs-ripple, cell 2:\n  - 200\n  + 300" in run.stdout
    assert kept.read_text("utf-8") != before
