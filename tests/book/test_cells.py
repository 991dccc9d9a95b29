"""Every cell that a page shows is run by the build and by pytest, and by both alike."""

import re
import sys

import nbformat
import pytest

import snippets
from book import documents
from book.cells import DOCS, cells, cells_of_text, made_from, pages, problems
from book.documents import CellParser
from book.running import run_pages
from tests.book.front import BARE, small_project

FENCE = re.compile(
    r"^\s*(`{3,}|~{3,}|:{3,})\s*\{?\s*(code-cell|code|ipython|python)", re.M
)


def run_page(text: str, name: str):
    """Run one page and return its notebook and its failure."""
    return run_pages({name: text}, jobs=1)[name][:2]


def page_with(*blocks: str) -> str:
    return BARE + "\n".join(blocks) + "\n"


def cell(code: str, options: str = "", language: str = "python") -> str:
    return f"```{{code-cell}} {language}\n{options}{code}\n```\n"


@pytest.mark.parametrize("page", pages())
def test_pytest_runs_as_many_cells_as_the_build(page, built):
    _, out = built
    notebook = nbformat.read(out / "jupyter_execute" / f"{page}.ipynb", as_version=4)
    built_cells = [c for c in notebook.cells if c.cell_type == "code"]
    run_by_build = [c.source for c in built_cells if c.execution_count is not None]
    document = documents.pages.parse(DOCS / f"{page}.md")
    run_by_pytest = [
        str(example.parsed)
        for example in document.examples()
        if isinstance(getattr(example.region.evaluator, "__self__", None), CellParser)
    ]
    assert run_by_build == run_by_pytest
    assert len(run_by_build) == len(built_cells) > 0


@pytest.mark.parametrize("page", pages())
def test_no_fence_that_looks_like_a_cell_is_passed_over(page):
    text = (DOCS / f"{page}.md").read_text("utf-8")
    assert len(FENCE.findall(text)) == len(cells(page))


@pytest.mark.parametrize("page", pages())
def test_no_claim_is_passed_over(page):
    text = (DOCS / f"{page}.md").read_text("utf-8")
    document = documents.pages.parse(DOCS / f"{page}.md")
    held = set()
    for example in document.examples():
        if not isinstance(
            getattr(example.region.evaluator, "__self__", None), CellParser
        ):
            first = text.count("\n", 0, example.start) + 1
            held |= set(range(first, text.count("\n", 0, example.end) + 2))
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("%"):
            assert number in held, (
                f"docs/{page}.md:{number}: no claim, and no reader sees it"
            )
    assert "<!--" not in text, f"docs/{page}.md: a comment that reaches readers"
    assert held or page == "index", f"docs/{page}.md has no claims"


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("```{code-cell} ipython3\n1\n```\n", "a cell begins with"),
        ("```{code-cell}\n1\n```\n", "a cell begins with"),
        ("```{code-cell} python\n:load: other.py\n```\n", "cannot be read"),
        ("```{code-cell} python\n:tags: [skip-execution]\n\n1\n```\n", "nothing runs"),
        ("```{code-cell} python\n```\n", "an empty cell"),
        ("```{code-cell} python\n---\ntags: [\n---\n1\n```\n", "cannot be read"),
    ],
)
def test_what_kernel_and_pytest_would_treat_unlike_is_refused(block, message, tmp_path):
    (tmp_path / "other.py").write_text("")
    text = page_with("# Title\n", block)
    ((line, _),) = [p for p in problems(text) if message in p[1]]
    assert message == "cannot be read" or text.split("\n")[line - 1].startswith("```")


def test_pages_have_none_of_these():
    for page in pages():
        assert problems((DOCS / f"{page}.md").read_text("utf-8")) == []


@pytest.mark.parametrize("page", pages())
def test_cells_are_short_enough_to_be_read(page):
    for one in cells(page):
        lines = one.source.splitlines()
        assert len(lines) <= 20, f"docs/{page}.md:{one.line} has {len(lines)} lines"
        for number, line in enumerate(lines, one.line):
            assert len(line) <= 88, f"docs/{page}.md:{number} is wider than a page"


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ("", 0),
        (":tags: [remove-cell]\n", 1),
        (":tags: [remove-cell]\n\n", 2),
        ("---\ntags: [hide-input]\nmystnb:\n  image:\n    alt: x\n---\n", 6),
    ],
)
def test_a_cell_begins_behind_its_options(options, lines):
    text = page_with("# Title\n", cell("1 + 1\n2 + 2", options))
    (found,) = cells_of_text(text)
    assert text.splitlines()[found.line - 1] == "1 + 1"
    assert found.source == "1 + 1\n2 + 2"
    assert text.splitlines().index("1 + 1") + 1 == found.line


def test_a_page_without_front_matter_has_no_cells():
    assert cells_of_text("# Title\n\n" + cell("1")) == ()


@pytest.mark.parametrize(
    ("code", "line", "error"),
    [
        ("a = 1\n\n\nraise ValueError('no')", 4, "ValueError: no"),
        ("a = 1\nb = (", 2, "SyntaxError"),
        ("def f():\n    return missing\n\n\nf()", 2, "NameError"),
        ("early(0)", 1, "ZeroDivisionError"),
        (
            "try:\n    early(0)\nexcept Exception as e:\n    raise KeyError from e",
            4,
            "KeyError",
        ),
        ("from snippets.konfig import load\n\nload(None)", 3, "AttributeError"),
        ("import os\n\nos._exit(3)", 1, "DeadKernelError"),
    ],
)
def test_a_failing_cell_is_named_by_its_line(code, line, error):
    options = ":tags: [remove-output]\n\n"
    text = page_with(
        "# Title\n",
        cell("def early(x):\n    return 1 / x"),
        "Words.\n",
        cell(code, options),
        cell("late = 1"),
    )
    _, failure = run_page(text, "docs/page.md")
    start = text.splitlines().index(code.splitlines()[0]) + 1
    assert failure.startswith(f"docs/page.md:{start + line - 1}: {error}"), failure
    assert "\x1b" not in failure


def test_a_cell_that_says_so_may_raise():
    text = page_with(cell("1 / 0", ":tags: [raises-exception]\n"), cell("after = 1"))
    notebook, failure = run_page(text, "docs/page.md")
    assert failure is None
    assert notebook.cells[-1].execution_count == 2


def test_the_kernel_runs_in_this_very_environment():
    code = "import sys, snippets, os\n"
    code += "print(sys.executable, snippets.__file__, os.getcwd(), sep='\\n')"
    notebook, failure = run_page(page_with(cell(code)), "docs/page.md")
    assert failure is None
    executable, module, folder = notebook.cells[-1].outputs[0].text.splitlines()
    assert (executable, module) == (sys.executable, snippets.__file__)
    assert str(DOCS.parent) not in folder


def test_a_cell_may_print_while_konfig_has_taken_over_the_imports():
    # zmq's own lazy import got a stand-in in one build of two, and a flush hung.
    code = "import time\n\nfrom kauldron import konfig\n\nwith konfig.imports():\n"
    code += "    for n in range(20):\n"
    code += "        print(n, flush=True)\n        time.sleep(0.01)"
    notebook, failure = run_page(page_with(cell(code)), "docs/page.md")
    assert failure is None
    (output,) = notebook.cells[-1].outputs
    assert output.text.split() == [str(n) for n in range(20)]


def test_imports_and_records_are_followed(tmp_path):
    (tmp_path / "snippets" / "recorded").mkdir(parents=True)
    (tmp_path / "snippets" / "recorded" / "times.json").write_text("{}")
    modules = {
        "__init__": "",
        "a": "from snippets import b",
        "b": "import snippets.c as c",
        "c": 'times = recorded("times")\nprogram = ["python", "-m", "snippets.d"]',
        "d": '"""Words about `snippets.e`."""',
        "e": "",
    }
    for name, text in modules.items():
        (tmp_path / "snippets" / f"{name}.py").write_text(text)
    found = made_from(["if True:\n    from snippets.a import x"], tmp_path)
    assert {path.stem for path in found} == {"__init__", *"abcd", "times"}


def test_a_page_depends_on_the_transcripts_that_it_quotes(tmp_path):
    code = 'rate = printed("refs", "ripple", r"(.*)")\nother = printed(\n    "sweep")'
    transcripts = tmp_path / "tests" / "transcripts"
    transcripts.mkdir(parents=True)
    for page in ("refs", "sweep", "konfig"):
        (transcripts / f"{page}.txt").touch()
    found = made_from([code], tmp_path)
    assert found == {transcripts / "refs.txt", transcripts / "sweep.txt"}


def test_pages_at_once_give_what_pages_alone_give():
    texts = {
        f"docs/{n}.md": page_with(cell(f"print({n})"), cell("1 / 0")) for n in "123"
    }
    for jobs in (1, 3):
        results = run_pages(texts, jobs)
        for n in "123":
            notebook, failure, seconds = results[f"docs/{n}.md"]
            assert notebook.cells[0].outputs[0].text == f"{n}\n"
            assert failure.startswith(f"docs/{n}.md:12: ZeroDivisionError")
            assert seconds > 0


def test_pytest_reports_an_error_with_a_cause_of_one_frame(pytester, root):
    # Sybil 10.1 fails on it, and every misspelt field of a config is such an error.
    code = "try:\n    1 / 0\nexcept Exception as error:\n    raise KeyError from error"
    small_project(pytester, root, page_with(cell("a = 1"), cell(code)))
    result = pytester.runpytest_subprocess("docs/page.md")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*page.md:15: KeyError*"])
