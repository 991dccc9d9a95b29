"""The pull request that moves the lock: its text, and how it is opened."""

import pytest

from compat import lock_note, lock_request, markdown

BEFORE = "# made by uv\njax==0.12.0 \\\n    --hash=sha256:0\nflax==1 \\\n"
AFTER = BEFORE.replace("0.12.0", "0.13.0") + "new-one==1 ; x == 'y' \\\n"
SAID = "docs/refs.md, section refs-ripple, cell 2:\n  - 200\n  + 201"
PULLS = "repos/{owner}/{repo}/pulls"
DISPATCH = "repos/{owner}/{repo}/actions/workflows/book.yml/dispatches"


def test_it_names_what_has_moved_and_what_prints_otherwise():
    said = f"set-up: installing uv into .tools\n{SAID}\n"
    text = lock_note.note(BEFORE, AFTER, said, run_url="https://run")
    assert "fit together: 2." in text
    assert "| jax | 0.12.0 | 0.13.0 |\n| new-one | new | 1 |" in text
    assert "flax" not in text
    assert f"```diff\n{SAID}\n```" in text
    assert "an artifact of https://run" in text


def test_a_long_difference_is_shortened():
    said = "\n".join(f"  + {n}" for n in range(1000))
    text = lock_note.note(BEFORE, AFTER, said)
    assert f"… and {1000 - lock_note.SHOWN} lines more" in text


def test_a_book_that_does_not_build_says_so_first_and_shows_the_end():
    said = "\n".join(["first line", *"abc" * 100, "docs/refs.md:42: AttributeError: x"])
    text = lock_note.note(BEFORE, AFTER, said, ended="failure")
    assert "**The book does not build with it** (*failure*)" in text
    assert "docs/refs.md:42: AttributeError: x\n```" in text
    assert "first line" not in text
    assert "| jax | 0.12.0 | 0.13.0 |" in text


def test_it_fits_whatever_was_printed():
    for ended in ("success", "failure"):
        text = lock_note.note(BEFORE, AFTER, "x" * 100_000, ended=ended)
        assert len(text) <= markdown.LIMIT
        assert "| jax | 0.12.0 | 0.13.0 |" in text or ended == "failure"


def test_a_missing_file_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["note", "a.lock", "b.lock", str(tmp_path / "no")])
    with pytest.raises(SystemExit, match=r"a\.lock: No such file"):
        lock_note.main()


def run(monkeypatch, tmp_path) -> None:
    path = tmp_path / "note.md"
    path.write_text("What moved.")
    monkeypatch.setenv("GITHUB_REPOSITORY_OWNER", "o")
    arguments = [str(path), "--branch", "lock", "--base", "main"]
    monkeypatch.setattr("sys.argv", ["request", *arguments])
    lock_request.main()


def test_it_is_opened_and_then_tested(gh, monkeypatch, tmp_path, capsys):
    gh.answer({f"GET {PULLS}": [], f"POST {PULLS}": {"number": 5}})
    run(monkeypatch, tmp_path)
    data = {"title": lock_request.TITLE, "body": "What moved."}
    assert gh.asked() == [
        ["GET", f"{PULLS}?state=open&base=main&head=o:lock", None],
        ["POST", PULLS, data | {"head": "lock", "base": "main"}],
        ["POST", DISPATCH, {"ref": "lock"}],
    ]
    assert capsys.readouterr().out == "pull request #5\n"


def test_one_that_is_open_gets_the_new_text_and_is_tested(gh, monkeypatch, tmp_path):
    gh.answer({f"GET {PULLS}": [{"number": 5}], f"PATCH {PULLS}/5": {"number": 5}})
    run(monkeypatch, tmp_path)
    data = {"title": lock_request.TITLE, "body": "What moved."}
    assert gh.asked()[1:] == [
        ["PATCH", f"{PULLS}/5", data],
        ["POST", DISPATCH, {"ref": "lock"}],
    ]


def test_outside_of_a_workflow_it_stops_at_once(gh, monkeypatch, tmp_path):
    monkeypatch.delenv("GITHUB_REPOSITORY_OWNER", raising=False)
    arguments = [str(tmp_path / "no"), "--branch", "lock", "--base", "main"]
    monkeypatch.setattr("sys.argv", ["request", *arguments])
    with pytest.raises(SystemExit, match="GITHUB_REPOSITORY_OWNER is not set"):
        lock_request.main()
    assert gh.asked() == []


def test_the_tests_can_be_dispatched(root):
    text = (root / ".github" / "workflows" / lock_request.TESTS).read_text("utf-8")
    assert "\n  workflow_dispatch:" in text
