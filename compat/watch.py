"""Turns what chapters do under other versions into one issue.

    python3 -m compat.watch --label nightly newest=records/newest/compat.json

Reads records as `make compat` writes them. Needs nothing but the standard library and
`gh`, so that the only job that may write issues installs no package.
"""

import argparse
import dataclasses
import datetime
import os
import pathlib
import re

from compat import github, issue, markdown
from compat.runs import KINDS, Finding, Run, locked, plain, read, records

ROOT = pathlib.Path(__file__).resolve().parent.parent
SAYS = {"fails": "a cell fails", "claim": "a claim fails", "differs": "output differs"}

# The section of CONTRIBUTING.md that says what to do.
TO_DO = "When the nightly opens an issue"

# What is named first; the other packages are in a table that has to be opened.
CHIEF = (
    "kauldron",
    "jax",
    "jaxlib",
    "flax",
    "optax",
    "etils",
    "orbax-checkpoint",
    "typeguard",
    "numpy",
    "tensorflow",
    "tensorflow-cpu",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Places:
    """Where the book and its source are to be read; '' if that is not known."""

    site: str = ""
    source: str = ""

    def link(self, found: Finding) -> str:
        """Return links to a section and to the line of its source."""
        line = f"docs/{found.page}.md:{found.line}"
        if self.source:
            address = f"{self.source}/docs/{found.page}.md?plain=1#L{found.line}"
            line = f"[{line}]({address})"
        section = found.section
        if self.site:
            address = f"{self.site.rstrip('/')}/{found.page}.html#{found.section}"
            section = f"[{section}]({address})"
        return f"{section}, {line}"


def report(
    runs: list[Run],
    *,
    on: str,
    ended: str = "success",
    run_url: str = "",
    lock: dict[str, str] | None = None,
    places: Places | None = None,
) -> issue.Report:
    """Return the issue that some runs are worth; its `found` is empty if none.

    Args:
      runs: what the combinations have done.
      on: the system that they ran on, such as ``Linux``.
      ended: how the job ended; anything but ``success`` is something to look at.
      run_url: where the whole record and the log are.
      lock: the versions that the book has, by package.
      places: where book and source are.
    """
    found = _found(runs, ended)
    names = " and ".join(run.name for run in runs)
    head = [
        _opening(runs, on, ended, bool(found)),
        *(_versions(run, lock or {}) for run in runs),
        _grid(runs),
    ]
    tail = [f"The whole record, and the log: {run_url}"] if run_url else []
    if found:
        tail.append(f"What to do about it: CONTRIBUTING.md, *{TO_DO}*.")
    body = markdown.fitting(
        "\n\n".join(part for part in head if part),
        _parts(runs, places or Places()),
        "\n\n".join(tail),
        markdown.LIMIT - len(issue.mark(found)) - 2,
    )
    return issue.Report(title=_title(runs, names, on), body=body, found=found)


def _found(runs: list[Run], ended: str) -> tuple[str, ...]:
    """Return a line for each thing that is not as the book says."""
    lines = [f"the job ended with {ended}"] if ended != "success" else []
    for run in runs:
        if run.trouble:
            lines.append(f"{run.name}: {run.trouble.splitlines()[0]}")
        of_findings = [
            f"{run.name}: docs/{each.page}.md, {each.section}, {SAYS[each.kind]}"
            for each in run.findings
        ]
        told = {each.page for each in run.findings}
        # A result without findings would be told nowhere else.
        of_chapters = [
            f"{run.name}: docs/{page}.md, {result}"
            for page, result in run.chapters.items()
            if result != "same" and page not in told
        ]
        lines += dict.fromkeys(of_findings + of_chapters)
    return tuple(lines)


def _title(runs: list[Run], names: str, on: str) -> str:
    """Return a line that says most.

    >>> _title([Run(name="main", chapters={"refs": "fails"})], "main", "Linux")
    'With other versions (main, Linux): refs is not as the book says'
    """
    changed = sorted(
        {page for run in runs for page, to in run.chapters.items() if to != "same"}
    )
    start = f"With other versions ({names}, {on}): "
    if not changed:
        silent = [run.name for run in runs if run.trouble] or ["the run"]
        return f"{start}no results of {' and '.join(silent)}"
    if len(changed) > 4:
        return f"{start}{len(changed)} chapters are not as the book says"
    verb = "is" if len(changed) == 1 else "are"
    return f"{start}{', '.join(changed)} {verb} not as the book says"


def _opening(runs: list[Run], on: str, ended: str, found: bool) -> str:
    names = " and ".join(f"**{run.name}**" for run in runs)
    if not found:
        said = "All chapters do what the book says"
        return f"{said}, with {names} on {on}."
    said = (
        f"The chapters were run with {names} on {on}. Not every one is known to do "
        "what the book says. Readers who install the book's own versions see none of "
        "this."
    )
    if ended != "success":
        said += (
            f" The job ended with *{ended}*: what it did not come to is not known, so "
            "this issue stays open until a run comes to its end."
        )
    return said


def _versions(run: Run, lock: dict[str, str]) -> str:
    """Return the versions of a run, and how they differ from the book's."""
    here = {plain(name): version for name, version in run.versions.items()}
    chief = [f"{name} {here[name]}" for name in ("python", *CHIEF) if name in here]
    said = f"**{run.name}**: {', '.join(chief) or 'versions not known'}."
    if run.asked:
        asked = ", ".join(f"{name} {to}" for name, to in run.asked.items())
        said += f" Asked for: {asked}."
    if run.trouble:
        first, _, rest = run.trouble.partition("\n\n")
        said += f" {first}"
        if rest:
            said += f"\n\n{markdown.fenced(markdown.shortened(rest, 30))}"
    others = [
        [name, lock.get(name, "none"), here[name]]
        for name in sorted(here)
        if name != "python" and here[name] != lock.get(name)
    ]
    if others and lock:
        rows = markdown.table([["package", "requirements.lock", run.name], *others])
        summary = f"Other versions than the book's: {len(others)}"
        said += f"\n\n<details><summary>{summary}</summary>\n\n{rows}\n\n</details>"
    return said


def _grid(runs: list[Run]) -> str:
    """Return chapters by runs; those that are the same everywhere in a sentence."""
    pages = sorted({page for run in runs for page in run.chapters})
    rows, same = [], []
    for page in pages:
        if all(run.chapters.get(page) == "same" for run in runs):
            same.append(page)
        else:
            rows.append([page, *(_cell(run, page) for run in runs)])
    parts = []
    if rows:
        parts.append(markdown.table([["chapter", *(run.name for run in runs)], *rows]))
    if same:
        parts.append(f"The same as in the book ({len(same)}): {', '.join(same)}.")
    return "\n\n".join(parts)


def _cell(run: Run, page: str) -> str:
    """Return a chapter's result, and in how many places."""
    places = sum(each.page == page for each in run.findings) + run.more.get(page, 0)
    result = run.chapters.get(page, "not run")
    return f"{result} ({places})" if places else result


def _parts(runs: list[Run], places: Places) -> list[tuple[str, str]]:
    """Return each finding as a part of the text; the same one of two runs only once."""
    where: dict[Finding, list[str]] = {}
    for run in runs:
        for each in run.findings:
            where.setdefault(each, []).append(run.name)
    first = sorted(where, key=lambda each: (KINDS.index(each.kind), each.page))
    return [
        (
            f"{each.section} ({', '.join(where[each])})",
            f"### {places.link(each)}: {SAYS[each.kind]} ({', '.join(where[each])})\n\n"
            + _shown(each),
        )
        for each in first
    ]


def _shown(found: Finding) -> str:
    language, text = "text", found.text
    if found.kind == "differs":
        # GitHub colours a difference only where the signs stand first.
        language, text = "diff", re.sub(r"(?m)^ {1,4}(?=[-+])", "", text)
    shown = markdown.fenced(markdown.shortened(text, 60), language)
    if found.again:
        shown += f"\n\nThe same message further down: {found.again}."
    return shown


def site() -> str:
    """Return where the book is published, or '' if it is not."""
    try:
        return github.call("GET", "repos/{owner}/{repo}/pages")["html_url"]
    except SystemExit:
        return ""


def main() -> None:
    """Open, update or close the issue about these combinations."""
    parser = argparse.ArgumentParser(prog="compat.watch", description=main.__doc__)
    parser.add_argument("records", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--label", required=True, help="of the issue")
    parser.add_argument("--on", default="Linux", help="the system that they ran on")
    parser.add_argument("--ended", default="success", help="how the job ended")
    parser.add_argument("--dry-run", action="store_true", help="change nothing")
    wanted = parser.parse_args()
    today = datetime.datetime.now(datetime.UTC).date()
    runs = [read(name, found, today) for name, found in records(wanted.records)]
    made = report(
        runs,
        on=wanted.on,
        ended=wanted.ended,
        run_url=issue.run_url(os.environ),
        lock=locked((ROOT / "requirements.lock").read_text("utf-8")),
        places=Places(site=site(), source=issue.source_url(os.environ)),
    )
    issue.follow(made, wanted.label, wanted.dry_run)


if __name__ == "__main__":
    main()
