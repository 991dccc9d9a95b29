"""What is remembered from build to build: the same, and no longer than it holds."""

import pytest

from book.remembered import Remembered


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kept"


def build(path, texts, code=b"code"):
    """Ask for some texts as a build does; return the results and what was called."""
    called = []

    def upper(text, words=frozenset()):
        called.append(text)
        return {text.upper(), *words}

    remembered = Remembered(path, code)
    results = [remembered(upper, text, {"b", "a"}) for text in texts]
    remembered.save()
    return results, called


def test_a_result_is_known_in_the_next_build(path):
    first = build(path, ["x", "y", "x"])
    assert first == ([{"X", "a", "b"}, {"Y", "a", "b"}, {"X", "a", "b"}], ["x", "y"])
    assert build(path, ["x", "z"]) == ([{"X", "a", "b"}, {"Z", "a", "b"}], ["z"])


def test_what_is_not_asked_for_is_forgotten(path):
    build(path, ["x", "y"])
    build(path, ["x"])
    assert build(path, ["y"])[1] == ["y"]


def test_other_code_and_a_file_cut_off_are_not_believed(path):
    build(path, ["x"])
    assert build(path, ["x"], code=b"other")[1] == ["x"]
    path.write_bytes(path.read_bytes()[:-20])
    assert build(path, ["x"], code=b"other")[1] == ["x"]
