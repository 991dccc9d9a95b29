"""What was made of a page is found under the names that the page had before."""

import types

import pytest

from book.former import copies


def test_what_was_made_of_a_page_that_moved_stands_at_both_addresses(tmp_path):
    moves = "start.html new.html\nnew.html#new-a other.html#other-a\nold.html gone.html"
    moves += "\nother.html new.html\nnew.html new.html"  # these are still there
    app = types.SimpleNamespace(
        config=types.SimpleNamespace(book_moved=moves),
        env=types.SimpleNamespace(found_docs={"new", "other"}),
    )
    (tmp_path / "new.ipynb").write_text("the page")
    (tmp_path / "other.ipynb").write_text("another")
    assert copies(app, tmp_path, ".ipynb") == {"start"}
    files = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert files == {
        "start.ipynb": "the page",
        "new.ipynb": "the page",
        "other.ipynb": "another",
    }


@pytest.fixture
def published_with_a_move(build, copy_of_book, tmp_path):
    """Return a build of a page that had another name, in a folder that was used."""
    book = copy_of_book()
    (book / "docs" / "moved.txt").write_text("references.html refs.html\n")
    for name in ("notebooks/left-over.ipynb", "left-over.html.md"):
        path = tmp_path / "html" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("of a page that is gone")
    run = build(book, tmp_path, page="refs")
    assert run.returncode == 0, run.stderr
    return tmp_path / "html"


def test_notebooks_and_texts_keep_their_former_addresses(published_with_a_move):
    out = published_with_a_move
    for made in ("notebooks/{}.ipynb", "{}.html.md"):
        new = (out / made.format("refs")).read_bytes()
        assert (out / made.format("references")).read_bytes() == new
        assert not (out / made.format("left-over")).exists()
