"""Keeps what was found, chapter by chapter, so that an interrupted run goes on."""

import dataclasses
import datetime
import hashlib
import json
import os
import pathlib

from book.cells import DOCS, ROOT, cells_of_text, made_from
from book.transcripts import KEPT
from compat.chapter import Finding, pieces_of, result_of
from compat.environments import recorded
from compat.matrix import Combination
from compat.tracebacks import cut, readable

RECORD = ROOT / "snippets" / "recorded" / "compat.json"

# A chapter's other findings are counted, not shown.
SHOWN = 5
# To be raised when what counts as a finding changes: all chapters run again then.
RULES = 1


class Record:
    """What was found under each combination of versions: a file.

    Args:
      path: of the file, which need not be there.
    """

    def __init__(self, path: pathlib.Path = RECORD):
        self.path = path

    def read(self) -> dict:
        """Return all that is recorded; another run may have added to it meanwhile."""
        if not self.path.exists():
            return {"measured": "", "combinations": {}}
        return json.loads(self.path.read_text("utf-8"))

    def begin(self, combination: Combination, versions: dict[str, str]) -> None:
        """Note that a combination was installed; keep what was found under it before.

        Chapters that were run with other versions are dropped.
        """
        old = self._entry(combination)
        entry = _about(combination) | {
            "python": versions["python"],
            "versions": recorded(versions),
            "installed": True,
            "chapters": {},
        }
        if old.get("versions") == entry["versions"]:
            entry["chapters"] = old["chapters"]
            entry["measured"] = old["measured"]
        self._put(combination, entry)

    def refuse(self, combination: Combination, said: str) -> None:
        """Note that a combination cannot be installed, with uv's last words."""
        lines = [line.rstrip() for line in readable(said).strip("\n").split("\n")]
        entry = _about(combination) | {
            "python": combination.python,
            "versions": {},
            "installed": False,
            "error": cut([line for line in lines if line]),
            "chapters": {},
        }
        self._put(combination, entry)

    def has(self, combination: Combination, page: str, key: str) -> bool:
        """Tell whether a chapter was run with all that `key` stands for."""
        chapters = self._entry(combination).get("chapters", {})
        return chapters.get(page, {}).get("key") == key

    def installed(self, combination: Combination) -> bool:
        """Tell whether there is a run of a combination."""
        return bool(self._entry(combination).get("chapters"))

    def add(
        self, combination: Combination, page: str, key: str, found: list[Finding]
    ) -> None:
        """Note what was found in a chapter."""
        entry = self._entry(combination)
        chapter = {
            "result": result_of(found),
            "key": key,
            "findings": [_as_dict(finding) for finding in found[:SHOWN]],
        }
        if len(found) > SHOWN:
            chapter["more"] = len(found) - SHOWN
        chapters = entry["chapters"] | {page: chapter}
        order = [*combination.chapters, *sorted(chapters)]
        entry["chapters"] = {name: chapters[name] for name in order if name in chapters}
        entry["measured"] = _today()
        self._put(combination, entry)

    def forget(self, combinations: dict[str, Combination]) -> None:
        """Drop what is in the matrix no longer, and take its order."""
        data = self.read()
        kept = data["combinations"]
        data["combinations"] = {n: kept[n] for n in combinations if n in kept}
        self._write(data)

    def _entry(self, combination: Combination) -> dict:
        return self.read()["combinations"].get(combination.name, {})

    def _put(self, combination: Combination, entry: dict) -> None:
        data = self.read()
        data["combinations"][combination.name] = entry
        self._write(data)

    def _write(self, data: dict) -> None:
        """Write the file in one step: whoever stops this finds the old or the new."""
        entries = data["combinations"].values()
        dates = [entry["measured"] for entry in entries if entry["measured"]]
        data["measured"] = max(dates, default="")
        part = self.path.with_suffix(".part")
        text = json.dumps(data, indent=1, ensure_ascii=False)
        part.write_text(f"{text}\n", "utf-8")
        os.replace(part, self.path)


def key(
    page: str, combination: Combination, versions: dict[str, str], docs: pathlib.Path
) -> str:
    """Return a hash of all that decides what is found in a chapter.

    These are its cells and claims, the snippets and records that they reach, its
    transcript, all packages, and how it is judged. Prose is not part of it.

    Args:
      page: the chapter.
      combination: under which it is run.
      versions: of all packages of its environment.
      docs: the folder of the pages.
    """
    text = (docs / f"{page}.md").read_text("utf-8")
    code = [(piece.cell, piece.source) for piece in pieces_of(text)]
    files = {*made_from([source for _, source in code]), transcript_of(page, docs)}
    # Its own record is what a run changes.
    read = [path.read_bytes().hex() for path in sorted(files - {RECORD})]
    tags = [cell.tags for cell in cells_of_text(text)]
    parts = [RULES, code, tags, read, sorted(versions.items()), combination.patch]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def transcript_of(page: str, docs: pathlib.Path = DOCS) -> pathlib.Path:
    """Return the path of a page's transcript."""
    return docs.parent / KEPT.relative_to(ROOT) / f"{page}.txt"


def _about(combination: Combination) -> dict[str, object]:
    """Return what the matrix says of a combination."""
    asked = dict(combination.asked)
    if combination.git:
        asked["kauldron"] = f"its branch {combination.git}"
    return {
        "why": combination.why,
        "asked": asked,
        "until": combination.date,
        "patched": combination.patch,
        "measured": _today(),
    }


def _as_dict(finding: Finding) -> dict[str, object]:
    found = dataclasses.asdict(finding)
    if not found["again"]:
        del found["again"]
    return found


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()
