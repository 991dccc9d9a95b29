"""Runs chapters under other versions, and records where they are not as in the book.

    make compat                                     # all of compat/matrix.toml
    make compat ONLY=tutorial,newest CHAPTERS=konfig

Each combination gets an environment of its own below _build/compat. What was found is
written to snippets/recorded/compat.json after each chapter; an interrupted run goes on
where it was. AGAIN=1 runs also what is recorded; DROP=1 removes each environment when
its chapters have run, where the disk has no room for all.
"""

import argparse
import contextlib
import os
import pathlib
import sys
import time

from book import environment
from book.cells import DOCS
from compat import chapter, environments, kernels, matrix
from compat.record import RECORD, Record, key, transcript_of


def try_all(
    combinations: list[matrix.Combination],
    record: Record,
    *,
    again: bool = False,
    drop: bool = False,
    docs: pathlib.Path = DOCS,
) -> None:
    """Install each combination and run its chapters, unless that is recorded.

    Args:
      combinations: what to try.
      record: where to note what is found.
      again: whether to run also what is recorded.
      drop: whether to remove each environment after its last chapter.
      docs: the folder of the pages.
    """
    for combination in combinations:
        try:
            versions = environments.install(combination)
        except environments.CannotInstall as error:
            _say(combination, "cannot be installed")
            print(error, file=sys.stderr)
            if error.unreachable and record.installed(combination):
                _say(combination, "the record is kept, since the network is the reason")
            else:
                record.refuse(combination, str(error))
            continue
        record.begin(combination, versions)
        _run_chapters(combination, versions, record, again, docs)
        if drop:
            environments.drop(combination)


def _run_chapters(
    combination: matrix.Combination,
    versions: dict[str, str],
    record: Record,
    again: bool,
    docs: pathlib.Path,
) -> None:
    keys = {
        page: key(page, combination, versions, docs) for page in combination.chapters
    }
    waiting = []
    for page in keys:
        if record.has(combination, page, keys[page]) and not again:
            _say(combination, page, "is recorded")
        else:
            waiting.append(page)
    python = environments.python_of(combination)
    with contextlib.ExitStack() as stack:
        forks = False
        if len(waiting) > 1:
            forks = stack.enter_context(kernels.warm_if_it_can(python))
        for page in waiting:
            started = time.monotonic()
            found = chapter.run(
                page,
                (docs / f"{page}.md").read_text("utf-8"),
                transcript_of(page, docs).read_text("utf-8"),
                python,
                patch=combination.patch,
                version=tuple(map(int, versions["python"].split(".")[:2])),
                forks=forks,
            )
            record.add(combination, page, keys[page], found)
            seconds = f"({time.monotonic() - started:.0f} s)"
            _say(combination, page, chapter.result_of(found), seconds)


def _say(combination: matrix.Combination, *words: str) -> None:
    print(f"{combination.name}:", *words, flush=True)


def main() -> None:
    """Try what the command line asks for."""
    parser = argparse.ArgumentParser(prog="compat", description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="combinations, between commas")
    parser.add_argument("--chapters", default="", help="pages, between commas")
    parser.add_argument("--record", type=pathlib.Path, default=RECORD, help="a file")
    arguments = parser.parse_args()
    environment.prepare()  # the kernels inherit it
    all_of_them = matrix.read()
    wanted = matrix.chosen(all_of_them, arguments.only, arguments.chapters)
    again, drop = (bool(os.environ.get(name)) for name in ("AGAIN", "DROP"))
    environments.say_what_it_takes(wanted, at_once=not drop)
    record = Record(arguments.record.absolute())
    record.forget(all_of_them)
    try:
        try_all(wanted, record, again=again, drop=drop)
    except KeyboardInterrupt:
        raise SystemExit("\nInterrupted; the next run goes on from here.") from None


if __name__ == "__main__":
    main()
