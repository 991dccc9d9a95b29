"""Kernel and pytest give one verdict on each cell, and on the same line."""

import pathlib
import re
import sys
import traceback

import nbformat
import pytest

from book import documents
from book.cells import cells_of_text, problems
from book.documents import CellParser
from book.running import run_pages
from book.transcripts import transcript
from book.verdict import NOT_RAISED, disagreements
from tests.book.front import BARE

RAISES = ":tags: [raises-exception]\n\n"


def page_of(*cells: tuple[str, str]) -> str:
    blocks = [
        f"```{{code-cell}} python\n{options}{code}\n```\n" for options, code in cells
    ]
    return BARE + "(page)=\n# Title\n\n" + "\n".join(blocks)


# Options, code, and what both have to say: the error, and its line in the code.
CELLS = [
    ("", "def early(x):\n    return 1 / x", ("", 0)),
    (RAISES, "a = 1\n\n\nraise ValueError('no')", ("ValueError", 4)),
    (":tags: [raises-exception]\n", "1 / 0", ("ZeroDivisionError", 1)),
    (
        "---\ntags: [raises-exception, hide-input]\nmystnb: {image: {alt: x}}\n---\n",
        "\nmissing",
        ("NameError", 1),
    ),
    (RAISES, "early(0)", ("ZeroDivisionError", 1)),
    (RAISES, "a = 1\nb = (", ("SyntaxError", 2)),
    (RAISES, "return 1", ("SyntaxError", 1)),
    # It has no line in a kernel's traceback, so it is refused where a cell says it.
    (RAISES, "import argparse\nargparse.ArgumentParser('x').exit()", ("SystemExit", 0)),
    (
        RAISES,
        "try:\n    early(0)\nexcept Exception as e:\n    raise KeyError from e",
        ("KeyError", 4),
    ),
    (RAISES, "class OwnError(Exception): ...\n\n\nraise OwnError", ("OwnError", 4)),
    (":tags: [remove-cell]\n", "import pickle\nkept = pickle.dumps(OwnError)", ("", 0)),
    ("", "assert pickle.loads(kept) is OwnError", ("", 0)),
    ("", "assert __name__ == OwnError.__module__ == '__main__'", ("", 0)),
    ("", "import sys\nassert sys.modules['__main__'].early is early", ("", 0)),
    (
        "",
        "import dataclasses\nimport typing\n\n\n@dataclasses.dataclass\nclass Own:\n"
        "    other: 'Own | None' = None\n\n\ntyping.get_type_hints(Own)['other']",
        ("", 0),
    ),
    ("", "import inspect\nassert 'return 1 / x' in inspect.getsource(early)", ("", 0)),
    ("", "import os\nassert os.listdir() == []", ("", 0)),
    ("", "for _ in range(2):\n    pass", ("", 0)),
    (RAISES, "print(__file__)", ("NameError", 1)),
    (RAISES, "early\nassert early is None, 'no'", ("AssertionError", 2)),
    ("", "x: int = 1;", ("", 0)),
]
TEXT = page_of(*((options, code) for options, code, _ in CELLS))


@pytest.fixture(scope="module")
def notebook() -> nbformat.NotebookNode:
    ((notebook, failure, _),) = run_pages({"docs/page.md": TEXT}, jobs=1).values()
    assert failure is None
    return notebook


def of_the_kernel(notebook) -> list[tuple[str, int]]:
    """Return error and line of each cell, from what the kernel said."""
    verdicts = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        verdict = ("", 0)
        for output in cell.outputs:
            if output.output_type == "error":
                trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(output.traceback))
                here = rf"Cell In\[{cell.execution_count}\], line (\d+)"
                (*_, line) = (0, *re.findall(here, trace))
                # IPython's own subclass on Python 3.13, for a cell that breaks off.
                name = output.ename.replace("_IncompleteInputError", "SyntaxError")
                verdict = (name, int(line))
        verdicts.append(verdict)
    return verdicts


def of_sybil(path: pathlib.Path) -> list[tuple[str, int]]:
    """Return error and line of each cell, from what Sybil's evaluator raises."""
    document = documents.pages.parse(path)
    cells = {cell.line: cell for cell in cells_of_text(document.text)}
    verdicts = []
    documents.enter(document.namespace)
    try:
        for example in document.examples():
            parser = example.region.evaluator.__self__
            assert isinstance(parser, CellParser)
            try:
                parser.evaluate(example)
            except BaseException as error:
                own = [
                    frame.lineno
                    for frame in traceback.extract_tb(error.__traceback__)
                    if frame.filename == str(path)
                ]
                if isinstance(error, SyntaxError):
                    own = [error.lineno]
                code = cells[example.line].source.count("\n") + 1
                own = [n for n in own if example.line <= n < example.line + code]
                line = (
                    0 if isinstance(error, SystemExit) else own[-1] - example.line + 1
                )
                verdicts.append((type(error).__name__, line))
            else:
                verdicts.append(("", 0))
    finally:
        documents.leave(document.namespace)
    return verdicts


def test_every_cell_has_one_verdict(notebook, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(TEXT, "utf-8")
    main = sys.modules["__main__"]
    expected = [verdict for _, _, verdict in CELLS]
    assert problems(TEXT) == []
    assert of_the_kernel(notebook) == expected
    assert of_sybil(path) == expected
    assert sys.modules["__main__"] is main


@pytest.fixture
def book(pytester, root):
    """A repository's own set-up, with no pages yet."""
    (pytester.path / "docs").mkdir()
    (pytester.path / "tests" / "transcripts").mkdir(parents=True)
    pytester.makeini("[pytest]\naddopts = -p no:doctest -p no:cacheprovider")
    docs = str(pytester.path / "docs")
    elsewhere = f"documents.pages.path = pathlib.Path({docs!r})\n"
    text = (root / "conftest.py").read_text("utf-8")
    text = text.replace("pytest_collect_file", elsewhere + "pytest_collect_file", 1)
    (pytester.path / "conftest.py").write_text(text, "utf-8")

    def add(page: str, text: str, kept: str) -> None:
        (pytester.path / "docs" / f"{page}.md").write_text(text, "utf-8")
        path = pytester.path / "tests" / "transcripts" / f"{page}.txt"
        path.write_text(kept, "utf-8")

    return add


def line_of(text: str, code: str) -> int:
    return text.split("\n").index(code) + 1


def test_pytest_wants_the_error_that_the_kernel_raised(notebook, book, pytester):
    kept = transcript("page", notebook)
    assert "raised NameError: name 'missing' is not defined" in kept
    book("page", TEXT, kept)
    book(
        "other", TEXT, kept.replace("raised NameError: name 'm", "raised KeyError: 'm")
    )
    claim = "\n% invisible-code-block: python\n%\n% a = 1\n%\n% assert a == 2\n"
    more = [
        (RAISES, "quiet = 1"),
        (":tags: [hide-input]\n", "loud = 1\nraise KeyError('loud')"),
    ]
    bad = page_of(*more) + claim
    book("bad", bad, "")
    result = pytester.runpytest_subprocess("docs", "-rf", "--tb=short")
    result.assert_outcomes(passed=2 * len(CELLS) - 1, failed=4)
    said = result.stdout.str()
    at = line_of(TEXT, "missing")
    assert re.search(rf"other\.md:{at}: ", said)
    assert "The transcript says: KeyError." in said
    assert f"docs/bad.md:{line_of(bad, 'quiet = 1')}: {NOT_RAISED}" in said
    loud = line_of(bad, "raise KeyError('loud')")
    assert re.search(rf"bad\.md:{loud}: in <module>\n.*raise KeyError", said)
    claimed = line_of(bad, "% assert a == 2")
    assert re.search(rf"bad\.md:{claimed}: in <module>\n.*assert a == 2", said)


def test_the_build_wants_an_error_too():
    text = page_of((RAISES, "quiet = 1"))
    ((_, failure, _),) = run_pages({"docs/page.md": text}, jobs=1).values()
    assert failure == f"docs/page.md:{line_of(text, 'quiet = 1')}: {NOT_RAISED}"


@pytest.mark.parametrize(
    ("code", "line", "message"),
    [
        ("a = 1\n%timeit a", 2, "IPython reads this otherwise"),
        ("%%time\na = 1", 1, "IPython reads this otherwise"),
        ("a = 1\n!ls", 2, "IPython reads this otherwise"),
        ("files = !ls", 1, "IPython reads this otherwise"),
        ("a = 1\na?", 2, "IPython reads this otherwise"),
        (">>> a = 1", 1, "IPython reads this otherwise"),
        ("  a = 1\n  b = 2", 1, "IPython reads this otherwise"),
        (",print a", 1, "IPython reads this otherwise"),
        ("import asyncio\nawait asyncio.sleep(0)", 2, "a top-level await"),
        ("a = 1\nasync with a:\n    pass", 2, "a top-level await"),
        ("b = [\n    x\n    async for x in y\n]", 3, "a top-level await"),
        ("from __future__ import annotations", 1, "`from __future__`"),
        ("a = 1\nprint(_)", 2, "`_` is the last output"),
        ("__", 1, "`__` is the last output"),
        ("_3", 1, "`_3` is a cell of the kernel's"),
        ("_i", 1, "`_i` is a cell of the kernel's"),
        ("a = 1\nIn[1]", 2, "`In` is not the same"),
        ("Out", 1, "`Out` is not the same"),
        ("exit()", 1, "`exit` is not the same"),
        ("quit()", 1, "`quit` is not the same"),
        ("import sys\nsys.exit(1)", 2, "`sys.exit` ends the kernel"),
        ("a = 1\nraise SystemExit", 2, "`raise SystemExit` ends the kernel"),
        ("a = 1\nraise SystemExit(1)", 2, "`raise SystemExit` ends the kernel"),
        ("get_ipython()", 1, "`get_ipython` is not the same"),
        ("display(1)", 1, "`display` is not the same"),
        ("name = input()", 1, "`input` is not the same"),
        ("breakpoint()", 1, "`breakpoint` is not the same"),
        ("import asyncio\nasyncio.run(f())", 2, "`asyncio.run` raises in a kernel"),
        (
            "import warnings\nwarnings.simplefilter('error')",
            2,
            "`warnings.simplefilter` lasts in a kernel only",
        ),
    ],
)
def test_what_the_two_would_treat_unlike_is_refused(code, line, message):
    text = page_of(("", "before = 1"), (":tags: [hide-input]\n\n", code))
    (first,) = [cell.line for cell in cells_of_text(text) if cell.source == code]
    ((found, said),) = problems(text)
    assert (found, said[: len(message)]) == (first + line - 1, message)


@pytest.mark.parametrize(
    "code",
    [
        "for _ in range(3):\n    pass",
        "first, _ = 1, 2",
        "f = lambda _: 1",
        's = """\n%timeit\n!ls\n"""',
        "async def f():\n    await g()",
        "from IPython.display import display\ndisplay(1)",
        "a = (",  # wrong for both, and the run says so
        "import warnings\nwith warnings.catch_warnings():\n"
        "    warnings.simplefilter('error')",
    ],
)
def test_what_is_alike_is_not_refused(code):
    assert disagreements(code) == []


def test_an_import_in_an_earlier_cell_counts():
    text = page_of(("", "from IPython.display import display"), ("", "display(1)"))
    assert problems(text) == []


@pytest.mark.parametrize(
    ("block", "line", "message"),
    [
        ("- a list\n\n  ```{code-cell} python\n  1\n  ```", 3, "inside of something"),
        ("> ```{code-cell} python\n> 1\n> ```", 1, "inside of something"),
        (":::{note}\n```{code-cell} python\n1\n```\n:::", 2, "inside of something"),
        (
            "````{note}\n:class: x\n\n```{code-cell} python\n1\n```\n````",
            4,
            "inside of something",
        ),
        (":::{code-cell} python\n1\n:::", 1, "inside of something"),
        ("```{raw-cell}\n1\n```", 1, "a raw cell, which nothing runs"),
        ("~~~{code-cell} python\n1\n~~~", 1, "a cell begins with"),
        ("```{code-cell} r\n1\n```", 1, "a cell begins with"),
    ],
)
def test_a_cell_that_a_parser_passes_over_is_refused(block, line, message):
    text = page_of(("", "before = 1")) + "\n" + block + "\n"
    at = text.index(block)
    ((found, said),) = problems(text)
    assert message in said
    assert found == text.count("\n", 0, at) + line


def test_a_page_may_show_how_a_cell_is_written():
    shown = "````md\n```{code-cell} python\n1\n```\n````\n"
    assert problems(page_of(("", "a = 1")) + "\n" + shown) == []
