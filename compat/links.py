"""Turns what Sphinx found out about links to other sites into one issue.

    python3 -m compat.links _build/linkcheck/found/output.json --label nightly-links

Reads what `make linkcheck` writes. A site that is asked too often, or has trouble of
its own, says nothing about the link; only what is gone counts.
"""

import argparse
import dataclasses
import json
import os
import pathlib

from compat import issue, markdown

# The link may be right: asked too often, or the site itself is ill.
NOT_KNOWN = ("429", "500", "502", "503", "504")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Link:
    """A link to another site.

    Attributes:
      page: the file that it stands in first.
      line: of that file; 0 if it is made by the build.
      address: where it leads.
      state: what became of it: Sphinx's word for it.
      said: the error, or where it leads on.
    """

    page: str
    line: int
    address: str
    state: str
    said: str


def read(text: str) -> list[Link]:
    r"""Return the links to other sites that Sphinx lists, a JSON object a line.

    Raises:
      SystemExit: if it is no such list.

    >>> line = '{"filename": "a.md", "lineno": 3, "status": "broken",'
    >>> read(line + ' "code": 0, "uri": "https://x.y", "info": "404"}\n')[0].state
    'broken'
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            entry = json.loads(line)
            link = Link(
                page=entry["filename"],
                line=int(entry["lineno"]),
                address=entry["uri"],
                state=entry["status"],
                said=str(entry["info"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise SystemExit(f"line {number} is none of linkcheck's: {error}") from None
        if link.address.startswith(("http://", "https://")):
            found.append(link)
    return found


def broken(links: list[Link]) -> list[Link]:
    """Return the links that lead nowhere."""
    return [
        link
        for link in links
        if link.state == "broken" and not link.said.startswith(NOT_KNOWN)
    ]


def report(
    links: list[Link], *, ended: str = "success", run_url: str = "", source: str = ""
) -> issue.Report:
    """Return the issue that some links are worth; its `found` is empty if none.

    Args:
      links: all that were tried.
      ended: how the job ended. It fails too where a link is broken, so this says
        something only where none is.
      run_url: where the log is.
      source: where the pages' source is.
    """
    bad = sorted(broken(links), key=lambda link: (link.page, link.line))
    found = tuple(link.address for link in bad)
    unknown = [link for link in links if link.state != "working" and link not in bad]
    unknown = [link for link in unknown if link.state in ("broken", "timeout")]
    # A timeout makes Sphinx fail as well, and is nothing that a page could mend.
    if not links or (ended != "success" and not bad and not unknown):
        found = (f"the check of links did not come to its end: {ended}",)
    if bad:
        title = f"Links of the book that lead nowhere: {len(bad)}"
        head = (
            f"Of {len(links)} links to other sites, {len(bad)} lead nowhere. Each is "
            "named with the place where the book has it first."
        )
    elif found:
        title = "The links of the book could not be checked"
        head = f"The check did not come to its end ({ended}); its log says why."
    else:
        title = "The links of the book lead where they should"
        head = f"No link is broken any more; {len(links)} were tried."
    tail = [f"Of {len(unknown)}, nothing is known: no answer."] if unknown else []
    tail += [f"The log: {run_url}"] if run_url else []
    body = markdown.fitting(
        head,
        [(link.address, _shown(link, source)) for link in bad],
        "\n\n".join(tail),
        markdown.LIMIT - len(issue.mark(found)) - 2,
    )
    return issue.Report(title=title, body=body, found=found)


def _shown(link: Link, source: str) -> str:
    place = f"docs/{link.page}:{link.line}" if link.line else f"docs/{link.page}"
    if source and link.line:
        place = f"[{place}]({source}/docs/{link.page}?plain=1#L{link.line})"
    said = markdown.shortened_line(link.said, 500)
    return f"### {place}\n\n{markdown.fenced(f'{link.address}\n{said}')}"


def main() -> None:
    """Open, update or close the issue about links to other sites."""
    parser = argparse.ArgumentParser(prog="compat.links", description=main.__doc__)
    parser.add_argument("output", type=pathlib.Path, help="of `make linkcheck`")
    parser.add_argument("--label", required=True, help="of the issue")
    parser.add_argument("--ended", default="success", help="how the job ended")
    parser.add_argument("--dry-run", action="store_true", help="change nothing")
    wanted = parser.parse_args()
    there = wanted.output.exists()
    made = report(
        read(wanted.output.read_text("utf-8")) if there else [],
        ended=wanted.ended,
        run_url=issue.run_url(os.environ),
        source=issue.source_url(os.environ),
    )
    issue.follow(made, wanted.label, wanted.dry_run)


if __name__ == "__main__":
    main()
