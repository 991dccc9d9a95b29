"""Tells all lies, prints what was caught, and keeps the figures: ``make mutants``.

make mutants                 all lies, and ten runs without one
make mutants ONLY=refs       those about one page
make mutants ONLY=refs-1a2b  one of them, with what pytest printed
"""

import argparse
import collections
import datetime
import importlib
import json
import multiprocessing
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator

from book import environment

environment.prepare()  # before anything imports jax or TensorFlow

from book import warm  # noqa: E402
from book.cells import DOCS, ROOT, pages  # noqa: E402
from book.running import jobs  # noqa: E402
from book.store import Store  # noqa: E402
from tests.mutants.judge import PROSE, Verdict, judge  # noqa: E402
from tests.mutants.lies import KINDS, MAKERS, Lie, lies  # noqa: E402

HERE = pathlib.Path(__file__).parent
RECORD = ROOT / "snippets" / "recorded" / "mutants.json"
REPEATS = 10
NO_LIE = "no lie"
QUICK = ("refs", "konfig", "kontext", "carry-away")


def equivalent() -> dict[str, str]:
    """Return the lies that change nothing a reader could notice, with the reason."""
    return tomllib.loads((HERE / "equivalent.toml").read_text("utf-8"))


def repeats() -> list[Lie]:
    """Return runs of pages without a lie: none of them may turn red.

    Not of the page about the verdicts, which is red until they are all in.
    """
    honest = [page for page in pages() if page != "how-it-is-checked"]
    return [
        Lie(
            kind=NO_LIE,
            path=f"docs/{page}.md",
            line=0,
            before="",
            after="",
            text=(DOCS / f"{page}.md").read_text("utf-8"),
            page=page,
        )
        for page in (honest * REPEATS)[:REPEATS]
    ]


def sample(told: list[Lie]) -> list[Lie]:
    """Return a few lies of each kind, on pages that run in a moment."""
    chosen = []
    for kind in dict.fromkeys(lie.kind for lie in told):
        # A lie in prose runs no cell, nor does a page that is gone: on any page, then.
        anywhere = kind in PROSE or kind == "a deleted page"
        quick = (lie for lie in told if anywhere or lie.page in QUICK)
        of_kind = [lie for lie in quick if lie.kind == kind]
        chosen += of_kind[: 1 if kind in ("upstream", NO_LIE) else 2]
    return chosen


def build(folder: pathlib.Path) -> Store:
    """Build the book as it is, and return the store of what was executed.

    Raises:
      SystemExit: if the build fails; a broken book cannot be lied to.
    """
    store = folder / "executed"
    run = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet"),
            *("-c", ".", "docs", str(folder / "html")),
        ],
        cwd=ROOT,
        env=os.environ | {"BOOK_STORE": str(store)},
    )
    if run.returncode:
        raise SystemExit(run.returncode)
    return Store(store)


def judge_all(told: list[Lie], store: Store) -> Iterator[Verdict]:
    """Judge lies, as many at once as there are cores, and print each verdict."""
    # A fork of this process has pytest, Sphinx and all that pages import; but Kauldron
    # only when the lies about it have been judged.
    for name in ("hypothesis", "pytest", "sphinx.application", "sybil", *warm.MODULES):
        if not name.startswith("kauldron"):
            importlib.import_module(name)
    upstream = [lie for lie in told if lie.kind == "upstream"]
    yield from _judge_some(upstream, store)
    others = [lie for lie in told if lie.kind != "upstream"]
    if others:
        warm.import_modules()
        yield from _judge_some(others, store)


def _judge_some(told: list[Lie], store: Store) -> Iterator[Verdict]:
    work = [(lie, store.folder) for lie in told]
    with multiprocessing.get_context("fork").Pool(jobs(), maxtasksperchild=1) as pool:
        for verdict in pool.imap_unordered(_judge, work):
            said = f"caught by {verdict.by}" if verdict.caught else "green"
            print(f"{verdict.seconds:5.0f} s  {verdict.lie}: {said}", flush=True)
            yield verdict


def _judge(work: tuple[Lie, pathlib.Path]) -> Verdict:
    return judge(*work)


def report(verdicts: list[Verdict]) -> None:
    """Print the share caught per kind, and each lie that nothing caught."""
    told, caught = collections.Counter(), collections.Counter()
    for verdict in verdicts:
        told[verdict.lie.kind] += 1
        caught[verdict.lie.kind] += verdict.caught
    width = max(map(len, told), default=4)
    print(f"\n{'kind':{width}}  caught  told")
    for kind in told:
        print(f"{kind:{width}}  {caught[kind]:6}  {told[kind]:4}")
    for verdict in verdicts:
        if not verdict.caught and verdict.lie.kind != NO_LIE:
            print(f"survived: {verdict.lie}")
        if verdict.caught and verdict.lie.kind == NO_LIE:
            print(f"red without a lie: {verdict.lie.page}: {verdict.by}")


def verdicts_kept() -> dict[str, bool | None]:
    """Return for each lie that was told whether it was caught; `None` if it was not."""
    try:
        return json.loads(RECORD.read_text("utf-8"))["caught"]
    except FileNotFoundError:
        return {}


def keep(verdicts: list[Verdict], told: list[Lie], excused: dict[str, str]) -> None:
    """Write what the page *how-it-is-checked* shows.

    Verdicts of an earlier run stay, if their lies are still told.

    Args:
      verdicts: of this run.
      told: all lies of today, and the runs without one.
      excused: the lies that are listed as equivalent.
    """
    before = verdicts_kept()
    now = {verdict.lie.name: verdict.caught for verdict in verdicts}
    results = {lie: (before | now).get(lie.name) for lie in told}
    kinds = {}
    for lie, result in results.items():
        if result is None:  # not told yet; nothing is said of it
            continue
        of_kind = kinds.setdefault(lie.kind, [0, 0])
        of_kind[0] += bool(result)
        of_kind[1] += 1
    record = {
        "measured": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "kinds": kinds,
        "equivalent": len(excused),
        "caught": {lie.name: result for lie, result in results.items()},
    }
    RECORD.write_text(json.dumps(record, indent=2) + "\n", "utf-8")


def main() -> int:
    """Return 0 if every lie was caught and no honest run turned red."""
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("--sample", action="store_true", help="a few, and keep nothing")
    parser.add_argument("only", nargs="?", default="", help="a page, a kind or a name")
    options = parser.parse_args()
    only = options.only
    excused = equivalent()
    everything = lies(KINDS)
    unknown = set(excused) - {lie.name for make in MAKERS.values() for lie in make()}
    if unknown:
        print(f"equivalent.toml names lies for which there is no place: {unknown}")
        return 1
    told = [lie for lie in everything if lie.name not in excused] + repeats()
    known = verdicts_kept() if only == "untold" else {}
    chosen = [
        lie
        for lie in told
        if (known.get(lie.name) is None and only in ("", "untold"))
        or only in (lie.page, lie.kind)
        or (only and lie.name.startswith(only))
    ]
    if options.sample:
        chosen = sample(chosen)
    if not chosen:
        print(f"no lie about {only!r}; there are pages: {' '.join(pages())}")
        return 2
    with warm.shared_process(), tempfile.TemporaryDirectory() as folder:
        given = os.environ.get("BOOK_STORE_OF_TESTS")
        store = Store(pathlib.Path(given)) if given else build(pathlib.Path(folder))
        verdicts = []
        try:
            verdicts.extend(judge_all(chosen, store))
        finally:  # also when stopped: an hour's verdicts are not thrown away
            if len(chosen) == 1:
                print(*(verdict.said for verdict in verdicts))
            report(verdicts)
            if not options.sample:
                keep(verdicts, told, excused)
    return 1 if any(v.caught == (v.lie.kind == NO_LIE) for v in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
