"""Keeps one issue that says what a nightly run has found.

It is opened when something is found, follows what is found, and is closed when nothing
is found any more. It is known by its label and by a mark in its text, so that nobody
else's issue is ever touched.
"""

import dataclasses
import hashlib
import re
import sys
from collections.abc import Mapping

from compat import github

_MARK = re.compile(r"<!-- kept by compat/issue\.py: ([0-9a-f ]*) -->")
_ISSUES = "repos/{owner}/{repo}/issues"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """What a run has found, in words.

    Attributes:
      title: of the issue.
      body: its text.
      found: a line for each thing that was found; none if all is as it should be. It
        names the thing and not its details, so that the same thing is known again.
    """

    title: str
    body: str
    found: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Issue:
    """The open issue, as it is."""

    number: int
    title: str
    body: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Action:
    """What is to be done.

    Attributes:
      what: ``open``, ``update``, ``close`` or ``nothing``.
      number: of the issue, if there is one.
      title: its new title.
      body: its new text.
      comment: what is said to those who follow the issue; '' for nothing, since a
        changed text alone notifies nobody.
    """

    what: str
    number: int = 0
    title: str = ""
    body: str = ""
    comment: str = ""


def mark(found: tuple[str, ...]) -> str:
    """Return the line, which nobody sees, by which the issue is known again.

    >>> mark(("newest: docs/refs.md, refs-ripple",))
    '<!-- kept by compat/issue.py: a7091264 -->'
    """
    return f"<!-- kept by compat/issue.py: {' '.join(map(_short, found))} -->"


def decide(report: Report, issue: Issue | None) -> Action:
    """Return what is to be done after a run.

    Args:
      report: what it has found.
      issue: the open issue, if there is one.

    >>> fine = Report(title="", body="All the same.", found=())
    >>> decide(fine, None).what
    'nothing'
    >>> decide(fine, Issue(number=7, title="", body="")).what
    'close'
    """
    if not report.found:
        if issue is None:
            return Action(what="nothing")
        return Action(what="close", number=issue.number, comment=report.body)
    new = {"title": report.title, "body": f"{report.body}\n\n{mark(report.found)}"}
    if issue is None:
        return Action(what="open", **new)
    if (issue.title, _plain(issue.body)) == (new["title"], _plain(new["body"])):
        return Action(what="nothing", number=issue.number)
    comment = _changed(report.found, issue.body)
    return Action(what="update", number=issue.number, comment=comment, **new)


def current(label: str) -> Issue | None:
    """Return the open issue with a label that was opened here, the oldest one."""
    path = f"{_ISSUES}?labels={label}&state=open&sort=created&direction=asc"
    for found in github.call("GET", f"{path}&per_page=100"):
        body = found["body"] or ""
        if "pull_request" not in found and _MARK.search(body):
            return Issue(number=found["number"], title=found["title"], body=body)
    return None


def carry_out(action: Action, label: str) -> None:
    """Do what was decided."""
    text = {"title": action.title, "body": action.body}
    if action.what == "open":
        _have_label(label)
        github.call("POST", _ISSUES, text | {"labels": [label]})
    if action.comment:
        path = f"{_ISSUES}/{action.number}/comments"
        github.call("POST", path, {"body": action.comment})
    if action.what == "update":
        github.call("PATCH", f"{_ISSUES}/{action.number}", text)
    if action.what == "close":
        data = {"state": "closed", "state_reason": "completed"}
        github.call("PATCH", f"{_ISSUES}/{action.number}", data)


def _have_label(label: str) -> None:
    """Make the label if there is none: without it the issue would not be found again.

    GitHub has not always made the labels that an issue is opened with.
    """
    path = "repos/{owner}/{repo}/labels"
    try:
        github.call("GET", f"{path}/{label}")
    except SystemExit:
        said = "Opened and closed by the nightly workflow"
        github.call("POST", path, {"name": label, "description": said})


def follow(report: Report, label: str, dry_run: bool) -> None:
    """Look for the issue, decide, and do it, or print what would be done."""
    action = decide(report, _current_or_none(label) if dry_run else current(label))
    number = f" #{action.number}" if action.number else ""
    print(f"{label}: {action.what}{number}, {len(report.found)} found")
    if not dry_run:
        carry_out(action, label)
        return
    for part in (action.title, action.body, action.comment):
        if part:
            print(f"\n{part}")


def run_url(variables: Mapping[str, str]) -> str:
    """Return the address of the workflow's run; '' outside of one.

    >>> name = {"GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "5", "GITHUB_SHA": "ab"}
    >>> run_url({"GITHUB_SERVER_URL": "https://h"} | name)
    'https://h/o/r/actions/runs/5'
    """
    base, run = _repository(variables), variables.get("GITHUB_RUN_ID")
    return f"{base}/actions/runs/{run}" if base and run else ""


def source_url(variables: Mapping[str, str]) -> str:
    """Return the address of the commit's files; '' outside of a workflow."""
    base, commit = _repository(variables), variables.get("GITHUB_SHA")
    return f"{base}/blob/{commit}" if base and commit else ""


def _repository(variables: Mapping[str, str]) -> str:
    server, name = map(variables.get, ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"))
    return f"{server}/{name}" if server and name else ""


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _current_or_none(label: str) -> Issue | None:
    try:
        return current(label)
    except SystemExit as error:
        print(f"{error} As if no issue were open:", file=sys.stderr)
        return None


def _plain(text: str) -> str:
    """Return a text without what GitHub changes in it: the ends of lines."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def _changed(found: tuple[str, ...], body: str) -> str:
    """Return what is found now and was not, and how much is gone; '' if neither."""
    match = _MARK.search(body)
    before = set(match[1].split()) if match else set()
    new = [text for text in found if _short(text) not in before]
    gone = len(before - set(map(_short, found)))
    lines = [f"- new: {text}" for text in new[:50]]
    if len(new) > 50:
        lines.append(f"- new: and {len(new) - 50} more")
    if gone:
        lines.append(f"- gone since: {gone}")
    return "\n".join(lines)
