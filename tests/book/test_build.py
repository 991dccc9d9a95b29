"""The build as a whole: it succeeds in silence, twice alike, and leaves no trace."""

import filecmp
import pathlib
import subprocess

import pytest

from book.cells import pages


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
    run, out = built
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    for page in pages():
        assert (out / "html" / f"{page}.html").is_file()
        assert f" s  {page}\n" in run.stdout  # how long it took
    assert f"The book is at {out / 'html' / 'index.html'}" in run.stdout


def test_two_builds_are_the_same_in_any_folder(built, build, copy_of_book, tmp_path):
    _, out = built
    copy = copy_of_book()
    before = git_status(copy)
    run = build(copy, tmp_path)
    assert run.returncode == 0, run.stderr
    first, second = out / "html", tmp_path / "html"
    # .buildinfo names the configuration that Sphinx saw; no reader sees it.
    names = files(first)
    assert names == files(second)
    same, different, errors = filecmp.cmpfiles(first, second, names, shallow=False)
    assert (different, errors) == ([], [])
    assert len(same) == len(names) > 20
    assert git_status(copy) == before


@pytest.fixture(scope="module")
def small_book(copy_of_book):
    """A copy in which one page is built, because that is quick."""
    return copy_of_book()


def test_a_page_runs_again_only_when_what_it_runs_has_changed(
    small_book, build, tmp_path
):
    def ran() -> bool:
        run = build(small_book, tmp_path, page="refs")
        assert run.returncode == 0, run.stderr
        return " s  refs\n" in run.stdout

    assert ran()
    assert not ran()
    # refs imports snippets.refs and, through it, snippets.showing
    for name, again in (("kontext", False), ("showing", True)):
        module = small_book / "snippets" / f"{name}.py"
        module.write_text(module.read_text("utf-8") + "\n# changed\n", "utf-8")
        assert ran() is again, name


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
