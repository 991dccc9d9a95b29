"""The one issue: when it is opened, followed and closed, and how `gh` is asked."""

import pytest

from compat import github, issue
from compat.issue import Action, Issue, Report

ISSUES = "repos/{owner}/{repo}/issues"
LABELS = "repos/{owner}/{repo}/labels"
FOUND = ("newest: refs differs", "newest: konfig fails")


def report(*found: str, body: str = "What was found.") -> Report:
    return Report(title="Something differs", body=body, found=found)


def opened(made: Report, number: int = 7) -> Issue:
    """The issue as it is when it was opened for a report."""
    text = issue.decide(made, None)
    return Issue(number=number, title=text.title, body=text.body)


def test_it_is_opened_when_something_is_found_and_none_is_open():
    action = issue.decide(report(*FOUND), None)
    assert (action.what, action.title) == ("open", "Something differs")
    assert action.body.startswith("What was found.")
    assert issue.mark(FOUND) in action.body


def test_nothing_is_done_when_nothing_has_changed():
    made = report(*FOUND)
    assert issue.decide(made, opened(made)) == Action(what="nothing", number=7)
    assert issue.decide(report(), None) == Action(what="nothing")


def test_what_github_does_to_the_ends_of_lines_is_no_change():
    made = report(*FOUND, body="One.\n\nTwo.")
    old = opened(made)
    changed = Issue(number=7, title=old.title, body=old.body.replace("\n", "\r\n"))
    assert issue.decide(made, changed).what == "nothing"


def test_a_changed_text_alone_is_written_and_notifies_nobody():
    action = issue.decide(report(*FOUND, body="jax 0.13"), opened(report(*FOUND)))
    assert (action.what, action.number, action.comment) == ("update", 7, "")
    assert action.body.startswith("jax 0.13")


def test_what_is_new_and_what_is_gone_is_told_to_those_who_follow():
    new = report(FOUND[0], "newest: ktyping fails", body="Another text.")
    action = issue.decide(new, opened(report(*FOUND)))
    assert action.what == "update"
    assert action.comment == "- new: newest: ktyping fails\n- gone since: 1"


def test_it_is_closed_with_a_word_when_all_is_as_it_was():
    action = issue.decide(report(body="All the same."), opened(report(*FOUND)))
    expected = Action(what="close", number=7, comment="All the same.")
    assert action == expected


def listed(number: int, body: str, **more) -> dict:
    return {"number": number, "title": "Something differs", "body": body} | more


def test_only_an_issue_that_was_opened_here_is_touched(gh):
    ours = issue.mark(FOUND)
    gh.answer(
        {
            f"GET {ISSUES}": [
                listed(3, "somebody's, with the same label"),
                listed(4, None),
                listed(5, ours, pull_request={}),
                listed(6, f"Text.\n\n{ours}"),
                listed(8, ours),
            ]
        }
    )
    found = issue.current("nightly")
    assert found.number == 6
    [[_, path, _]] = gh.asked()
    assert "labels=nightly&state=open&sort=created&direction=asc" in path


@pytest.mark.parametrize(
    ("action", "asked"),
    [
        (Action(what="nothing", number=7), []),
        (
            Action(what="open", title="T", body="B"),
            [
                ["GET", f"{LABELS}/nightly", None],
                ["POST", ISSUES, {"title": "T", "body": "B", "labels": ["nightly"]}],
            ],
        ),
        (
            Action(what="update", number=7, title="T", body="B"),
            [["PATCH", f"{ISSUES}/7", {"title": "T", "body": "B"}]],
        ),
        (
            Action(what="update", number=7, title="T", body="B", comment="C"),
            [
                ["POST", f"{ISSUES}/7/comments", {"body": "C"}],
                ["PATCH", f"{ISSUES}/7", {"title": "T", "body": "B"}],
            ],
        ),
        (
            Action(what="close", number=7, comment="C"),
            [
                ["POST", f"{ISSUES}/7/comments", {"body": "C"}],
                [
                    "PATCH",
                    f"{ISSUES}/7",
                    {"state": "closed", "state_reason": "completed"},
                ],
            ],
        ),
    ],
    ids=["nothing", "open", "update", "update-and-tell", "close"],
)
def test_what_is_decided_is_done_by_gh(gh, action, asked):
    issue.carry_out(action, "nightly")
    assert gh.asked() == asked


def test_a_label_that_does_not_exist_is_made_first(gh):
    gh.answer({f"GET {LABELS}/nightly": "fails"})
    issue.carry_out(Action(what="open", title="T", body="B"), "nightly")
    _, (method, path, data), (_, opened_at, _) = gh.asked()
    assert (method, path, data["name"]) == ("POST", LABELS, "nightly")
    assert opened_at == ISSUES


def test_a_dry_run_looks_and_changes_nothing(gh, capsys):
    gh.answer({f"GET {ISSUES}": [listed(7, issue.mark(FOUND))]})
    issue.follow(report(*FOUND, "new"), "nightly", dry_run=True)
    assert [method for method, *_ in gh.asked()] == ["GET"]
    said = capsys.readouterr().out
    assert said.startswith("nightly: update #7, 3 found\n\nSomething differs\n")
    assert said.endswith("- new: new\n")


def test_what_gh_says_is_passed_on(gh):
    gh.answer({f"GET {ISSUES}": "fails"})
    with pytest.raises(SystemExit, match=r"gh api GET repos/.*Not Found \(HTTP 404\)"):
        issue.current("nightly")


def test_a_machine_without_gh_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="gh, the command line of GitHub, is not"):
        github.call("GET", ISSUES)


def test_words_of_others_never_reach_a_command_line(gh):
    words = '$(touch x) `y` "z" --input\n@someone'
    issue.carry_out(Action(what="open", title=words, body=words), "nightly")
    data = gh.asked()[-1][2]
    assert (data["title"], data["body"]) == (words, words)
