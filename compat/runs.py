"""Reads what chapters did under other versions, from records of `make compat`."""

import dataclasses
import datetime
import json
import pathlib
import re
from collections.abc import Iterator

# What the record calls a result, and what is written.
RESULTS = {
    "same": "same",
    "differs": "output differs",
    "fails": "fails",
}
KINDS = ("fails", "claim", "differs")

# A run of tonight may have begun yesterday. An older one is what was committed: the
# combination was not run.
FRESH = datetime.timedelta(days=2)

# Sections that print the versions themselves, and so differ with any others.
PRINT_VERSIONS = ("index-versions", "install-versions")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """Something in a chapter that is not as the book says.

    Attributes:
      page: the name of the chapter's page.
      section: the label of the section.
      line: the line of the page's source.
      kind: one of `KINDS`.
      text: the two outputs, or the end of a traceback.
      again: how many places further down fail with the same message.
    """

    page: str
    section: str
    line: int
    kind: str
    text: str
    again: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """What a combination of versions has done.

    Attributes:
      name: of the combination.
      versions: of Python and of the packages, exact.
      asked: what of them was asked for.
      trouble: why there are no results, if there are none.
      chapters: the result of each chapter, as it is written.
      findings: what is behind these results.
      more: how many findings of a chapter the record only counts.
    """

    name: str
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    asked: dict[str, str] = dataclasses.field(default_factory=dict)
    trouble: str = ""
    chapters: dict[str, str] = dataclasses.field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    more: dict[str, int] = dataclasses.field(default_factory=dict)


def read(name: str, record: dict | None, today: datetime.date) -> Run:
    """Return what a record says about a combination.

    Args:
      name: of the combination.
      record: as the runner writes it; None if it wrote none.
      today: the day on which it should have been measured.

    Raises:
      SystemExit: if it is no such record.

    >>> read("newest", None, datetime.date(2026, 12, 1)).trouble
    'The run left no record.'
    """
    if record is None:
        return Run(name=name, trouble="The run left no record.")
    try:
        return _read(name, record, today)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        raise SystemExit(f"the record of '{name}' is not as expected: {said}") from None


def _read(name: str, record: dict, today: datetime.date) -> Run:
    combination = record["combinations"].get(name)
    if combination is None:
        return Run(name=name, trouble="The record does not name this combination.")
    measured = datetime.date.fromisoformat(combination["measured"][:10])
    if today - measured > FRESH:
        said = f"It was not run: the record is of {measured}."
        return Run(name=name, trouble=said)
    about = {
        "name": name,
        "versions": {"python": combination["python"], **combination["versions"]},
        "asked": combination["asked"],
    }
    if not combination["installed"]:
        said = f"It could not be installed:\n\n{combination['error']}"
        return Run(**about, trouble=said)
    if not combination["chapters"]:
        return Run(**about, trouble="No chapter was run.")
    chapters, findings, more = {}, [], {}
    for page, chapter in combination["chapters"].items():
        result, found = RESULTS[chapter["result"]], _findings(page, chapter)
        others = [each for each in found if not _only_versions(each)]
        more[page] = int(chapter.get("more", 0))
        if found and not others and not more[page]:
            result = "same"
        chapters[page] = result
        findings += others
    return Run(**about, chapters=chapters, findings=tuple(findings), more=more)


def _findings(page: str, chapter: dict) -> list[Finding]:
    return [
        Finding(
            page=page,
            section=each["section"],
            line=int(each["line"]),
            kind=KINDS[KINDS.index(each["kind"])],
            text=each["text"],
            again=int(each.get("again", 0)),
        )
        for each in chapter["findings"]
    ]


def _only_versions(found: Finding) -> bool:
    return found.kind == "differs" and found.section in PRINT_VERSIONS


def locked(text: str) -> dict[str, str]:
    r"""Return the versions in a lock, by package.

    >>> locked("jax==0.12.0.1 \\\n    --hash=sha256:0\nPy_YAML==6 ; x == 'y' \\\n")
    {'jax': '0.12.0.1', 'py-yaml': '6'}
    """
    found = re.findall(r"(?m)^([A-Za-z0-9._-]+)==([^ ;\\]+)", text)
    return {plain(name): version for name, version in found}


def plain(name: str) -> str:
    """Return the name of a package as all tools agree to write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def records(wanted: list[str]) -> Iterator[tuple[str, dict | None]]:
    """Yield the combinations that are asked for, each with its record.

    Raises:
      SystemExit: if one is not written ``name=path``, or its file is no JSON.
    """
    for each in wanted:
        name, equals, path = each.partition("=")
        if not (name and equals and path):
            raise SystemExit(f"'{each}' should be NAME=PATH.")
        try:
            yield name, json.loads(pathlib.Path(path).read_text("utf-8"))
        except FileNotFoundError:
            yield name, None
        except ValueError as error:
            raise SystemExit(f"{path} is no JSON: {error}") from None
