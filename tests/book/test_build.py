"""The build as a whole: it succeeds in silence, twice alike, and leaves no trace."""

import contextlib
import filecmp
import pathlib
import re
import subprocess

import nbformat
import pytest

from book.cells import DOCS, pages
from book.running import run_pages


def files(folder: pathlib.Path) -> set[str]:
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    }


def git_status(root: pathlib.Path) -> str:
    run = subprocess.run(
        ["git", "status", "--porcelain"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


def test_the_book_builds_without_a_warning(built):
    run, _ = built
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert "The book is at " in run.stdout


@pytest.mark.parametrize("page", pages())
def test_a_page_builds_without_a_warning(page, built):
    run, out = built
    assert f"docs/{page}.md:" not in run.stderr, run.stderr
    assert (out / "html" / f"{page}.html").is_file(), run.stderr


# Quick to run, and between them with every kind of output.
SAMPLE = ("carry-away", "ideas", "index", "konfig", "kontext", "refs", "trainer")


def outputs(notebook) -> list:
    """Return what the cells print, less what MyST-NB takes out: glue, empty lines."""
    return [
        [
            dict(output) | ({"text": output.text.rstrip()} if "text" in output else {})
            for output in cell.outputs
            if "scrapbook" not in output.get("metadata", {})
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.parametrize(
    "sample",
    [SAMPLE, pytest.param(pages(), marks=pytest.mark.proof)],
    ids=["some", "all"],
)
def test_a_second_run_prints_the_same(sample, built):
    _, out = built
    texts = {page: (DOCS / f"{page}.md").read_text("utf-8") for page in sample}
    for page, (notebook, failure, _) in run_pages(texts, jobs=2).items():
        assert failure is None
        first = nbformat.read(out / "jupyter_execute" / f"{page}.ipynb", as_version=4)
        assert outputs(notebook) == outputs(first), page


def test_two_builds_are_the_same_in_any_folder(root, build, copy_of_book, tmp_path):
    copy = copy_of_book()
    before = git_status(copy)
    for folder, out in ((root, tmp_path / "one"), (copy, tmp_path / "other")):
        run = build(folder, out, page="refs", store=out)
        assert run.returncode == 0, run.stderr
    first, second = tmp_path / "one" / "html", tmp_path / "other" / "html"
    names = files(first)
    assert names == files(second)
    same, different, errors = filecmp.cmpfiles(first, second, names, shallow=False)
    assert (different, errors) == ([], [])
    assert len(same) == len(names) > 8
    assert git_status(copy) == before


@pytest.mark.proof
def test_two_builds_of_the_whole_book_are_the_same(
    built, build, copy_of_book, tmp_path
):
    run = build(copy_of_book(), tmp_path, store=tmp_path / "store")
    assert run.returncode == 0, run.stderr
    first, second = built[1] / "html", tmp_path / "html"
    names = files(first)
    assert names == files(second)
    assert filecmp.cmpfiles(first, second, names, shallow=False)[1:] == ([], [])


@contextlib.contextmanager
def changed(path: pathlib.Path, text: str):
    whole = path.read_text("utf-8")
    assert text != whole
    path.write_text(text, "utf-8")
    try:
        yield
    finally:
        path.write_text(whole, "utf-8")


@pytest.fixture(scope="module")
def small_book(copy_of_book):
    """A copy in which one page is built, because that is quick."""
    return copy_of_book()


def test_a_page_runs_again_only_when_what_it_runs_has_changed(
    small_book, build, tmp_path
):
    def why() -> str | None:
        """Say what the build said behind the page, or `None` if it did not run."""
        run = build(small_book, tmp_path, page="refs", store=tmp_path / "store")
        assert run.returncode == 0, run.stderr
        ran = re.search(r" s  refs(.*)$", run.stdout, re.M)
        return ran[1] if ran else None

    assert why() == ""
    assert why() is None
    page = small_book / "docs" / "refs.md"
    whole = page.read_text("utf-8")
    other = small_book / "snippets" / "kontext.py"  # which refs does not import
    with (
        changed(page, whole.replace("gets no error", "sees no error")),
        changed(other, other.read_text("utf-8") + "\n# changed\n"),
    ):
        assert why() is None
    # refs imports snippets.refs and, through it, snippets.showing
    for name in ("snippets/showing.py", "book/kernel.py"):
        module = small_book / name
        with changed(module, module.read_text("utf-8") + "\n# changed\n"):
            assert why() == f"  ({name} changed)"
        assert why() is None  # as it was before
    with changed(page, whole.replace("steps = 200\n", "steps = 200  # changed\n")):
        assert why() == "  (its cells changed)"


def test_a_broken_cell_stops_the_build_and_is_named(small_book, build, tmp_path):
    page = small_book / "docs" / "refs.md"
    whole = page.read_text("utf-8")
    line = whole.splitlines().index("short.num_train_steps = 200") + 1
    broken = whole.replace(
        "short.num_train_steps = 200", "short.num_train_steps = 2 / 0", 1
    )
    page.write_text(broken, "utf-8")
    try:
        run = build(small_book, tmp_path, page="refs")
    finally:
        page.write_text(whole, "utf-8")
    assert run.returncode not in (0, None)
    assert f"docs/refs.md:{line}: ZeroDivisionError: division by zero" in run.stderr
    assert "----> 4 short.num_train_steps = 2 / 0" in run.stderr
    assert "Sphinx" not in run.stderr
    assert not list((tmp_path / "html").glob("*.html"))


def test_links_to_the_repository_come_from_one_setting(root, build, tmp_path):
    where = "https://example.org/some/book"
    run = build(root, tmp_path, page="carry-away", repository=where)
    assert run.returncode == 0, run.stderr
    html = (tmp_path / "html" / "carry-away.html").read_text("utf-8")
    for address in (
        f"{where}/edit/main/docs/carry-away.md",
        f"{where}/issues/new",
        f"{where}/commit/",
    ):
        assert address in html


def test_the_first_page_can_be_built_alone(root, build, tmp_path):
    run = build(root, tmp_path, page="index")
    assert (run.returncode, run.stderr) == (0, "")


def test_the_build_says_how_long_each_page_took(small_book, build, tmp_path):
    run = build(small_book, tmp_path, page="refs", store=tmp_path / "store")
    assert re.search(r"^ +\d+\.\d s  refs\b", run.stdout, re.M)
    assert f"The book is at {tmp_path / 'html' / 'refs.html'}" in run.stdout


def test_another_commit_runs_nothing_and_stands_on_every_page(
    small_book, build, tmp_path
):
    def ran() -> tuple[bool, str]:
        run = build(small_book, tmp_path, page="carry-away", store=tmp_path / "store")
        assert run.returncode == 0, run.stderr
        html = (tmp_path / "html" / "carry-away.html").read_text("utf-8")
        return " s  carry-away" in run.stdout, html

    assert ran()[0]
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(
        [*git, "commit", "-qm", "x", "--allow-empty"], cwd=small_book, check=True
    )
    new = subprocess.run(
        ["git", "log", "-1", "--format=%h", "--abbrev=10"],
        cwd=small_book,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    again, html = ran()
    assert not again and new in html


def test_what_is_no_page_of_the_book_is_refused(small_book, build, tmp_path):
    extra = small_book / "docs" / "extra.rst"
    extra.write_text("Extra\n=====\n", "utf-8")
    run = build(small_book, tmp_path)
    extra.unlink()
    assert run.returncode == 1
    assert "docs/extra.rst:1: not a page of the book, which are docs/*.md" in run.stderr


def test_a_removed_page_does_not_stay(small_book, build, tmp_path):
    (tmp_path / "html" / "_images").mkdir(parents=True)
    old = [tmp_path / "html" / "old.html", tmp_path / "html" / "_images" / "old.svg"]
    for path in old:
        path.touch()
    run = build(small_book, tmp_path, page="carry-away")
    assert run.returncode == 0, run.stderr
    assert not any(path.exists() for path in old)
