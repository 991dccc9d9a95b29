"""Writes what a pull request that moves the lock says.

    python3 -m compat.lock_note before.lock requirements.lock accept.log --ended success

It is made from the two locks and from what `make accept` has printed.
"""

import argparse
import os
import pathlib
import re

from compat import issue, markdown
from compat.runs import locked

# Lines of the transcripts' difference that are shown; the whole is an artifact.
SHOWN = 200
UNCHANGED = "Every output is as it was."


def note(
    before: str, after: str, said: str, *, ended: str = "success", run_url: str = ""
) -> str:
    r"""Return the text of the pull request.

    Args:
      before: the lock as it was.
      after: the lock as it is now.
      said: what `make accept` has printed.
      ended: how the build and `make accept` ended.
      run_url: where the artifact and the log are.

    >>> print(note("jax==1 \\\n", "jax==2 \\\n", "Every output is as it was."))
    `make lock` has moved the lock to the newest packages that fit together: 1.
    <BLANKLINE>
    Every output is as it was.
    <BLANKLINE>
    | package | before | now |
    | --- | --- | --- |
    | jax | 1 | 2 |
    """
    rows = changes(before, after)
    head = (
        "`make lock` has moved the lock to the newest packages that fit together: "
        f"{len(rows)}."
    )
    whole = f" The whole of it is an artifact of {run_url}." if run_url else ""
    table = markdown.table([["package", "before", "now"], *rows]) if rows else ""
    if ended != "success":
        verdict = (
            f"**The book does not build with it** (*{ended}*), so what its pages print "
            f"with it is not known. The end of the log follows.{whole}"
        )
        shown = markdown.fenced("\n".join(said.splitlines()[-60:]))
        parts = [("the end of the log", shown), ("the table of packages", table)]
    elif UNCHANGED in said.splitlines():
        verdict = UNCHANGED
        parts = [("the table of packages", table)]
    else:
        verdict = (
            "Outputs have changed, and the transcripts with them. Read the sentences "
            f"around each cell before you merge.{whole}"
        )
        shown = markdown.fenced(markdown.shortened(_difference(said), SHOWN), "diff")
        parts = [("the table of packages", table), ("the changed outputs", shown)]
    parts = [part for part in parts if part[1]]
    return markdown.fitting(f"{head}\n\n{verdict}", parts, "", markdown.LIMIT)


def changes(before: str, after: str) -> list[list[str]]:
    r"""Return the packages whose versions differ: name, old and new.

    >>> changes("a==1 \\\nb==1 \\\n", "b==2 \\\nc==3 \\\n")
    [['a', '1', 'gone'], ['b', '1', '2'], ['c', 'new', '3']]
    """
    old, new = locked(before), locked(after)
    return [
        [name, old.get(name, "new"), new.get(name, "gone")]
        for name in sorted(old | new)
        if old.get(name) != new.get(name)
    ]


def _difference(said: str) -> str:
    r"""Return what `make accept` has printed without what the build said before.

    >>> _difference("set-up: installing\n\nrefs.txt: new\n\nkonfig.txt: new\n")
    'refs.txt: new\n\nkonfig.txt: new'
    """
    first = re.search(r"^(docs/.+, cell \d+:|[\w-]+\.txt: )", said, re.M)
    return said[first.start() if first else 0 :].strip()


def main() -> None:
    """Print the text of a pull request that moves the lock."""
    parser = argparse.ArgumentParser(prog="compat.lock_note", description=main.__doc__)
    parser.add_argument("before", type=pathlib.Path, help="the lock as it was")
    parser.add_argument("after", type=pathlib.Path, help="the lock as it is now")
    parser.add_argument("said", type=pathlib.Path, help="what `make accept` printed")
    parser.add_argument("--ended", default="success", help="how that ended")
    wanted = parser.parse_args()
    try:
        texts = [
            path.read_text("utf-8", errors="replace")
            for path in (wanted.before, wanted.after, wanted.said)
        ]
    except OSError as error:
        raise SystemExit(f"{error.filename}: {error.strerror}") from None
    print(note(*texts, ended=wanted.ended, run_url=issue.run_url(os.environ)))


if __name__ == "__main__":
    main()
