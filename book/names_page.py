"""Lists the names of Kauldron that the book explains, and holds the share of them.

The directive ``{names}`` lists the names of a module and of the modules below it, with
links to the sections that run them, to those that only mention them, and to their
source upstream. It takes what `book.names` has kept of all pages, so it is written
again when another page has changed.

A public name counts as explained if one page runs it and speaks of it, or of a member
of it, in a sentence. The page shows the record of which do, and a test holds the record
to the pages; ``python -m book.names --accept`` writes it.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from book.cells import ROOT
from book.kept import keep, kept
from book.names import Page, Use, pages_of, read
from book.public import as_written, modules, public
from book.reading import unexecuted

RECORD = ROOT / "snippets" / "recorded" / "names.json"

# By name, the pages and sections that have it.
Places = dict[str, set[tuple[str, str]]]


class names_list(nodes.General, nodes.Element):
    """Stands for the names of a module until all pages have been read."""


class NamesDirective(SphinxDirective):
    """Lists the names of the modules that begin with its argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return what stands for the list."""
        lists = lists_of(self.env).get(self.env.docname, set())
        keep(self.env, "names lists", lists | {self.arguments[0]})
        return [names_list(of=self.arguments[0])]


def lists_of(env) -> dict[str, set[str]]:
    """Return the modules that each page lists."""
    return kept(env, "names lists")


def places(pages: dict[str, Page]) -> tuple[Places, Places]:
    """Return where the names of Kauldron are run, and where they are only mentioned."""
    ran, said = defaultdict(set), defaultdict(set)
    for page, names in pages.items():
        for found, uses in ((ran, names.ran), (said, names.said)):
            for use in uses:
                if written := _listed(use):
                    found[written].add((page, use.section))
    return dict(ran), {name: said[name] - ran.get(name, set()) for name in said}


def _listed(use: Use) -> str | None:
    """Return the name as the list has it; members with an underscore are no news."""
    written = as_written(use.name)
    return written.partition("._")[0] if written else None


def explained(pages: dict[str, Page]) -> dict[str, dict[str, object]]:
    """Return for each module how many names are public, and which are explained."""
    held = set()
    for page in pages.values():
        ran, said = (
            {_owner(written) for use in uses if (written := as_written(use.name))}
            for uses in (page.ran, page.said)
        )
        held |= {(public()[name].module, public()[name].name) for name in ran & said}
    found = {}
    for module in modules():
        ours = [name for name in public() if name.rpartition(".")[0] == module]
        if ours:
            found[module] = {
                "public": len(ours),
                "explained": [
                    name.rpartition(".")[2]
                    for name in ours
                    if (public()[name].module, public()[name].name) in held
                ],
            }
    return found


def _owner(written: str) -> str:
    """Return the public name that a name is, or that it is a member of."""
    module = _module(written)
    return f"{module}.{written.removeprefix(f'{module}.').split('.')[0]}"


def fill(app, doctree: nodes.document, docname: str) -> None:
    """Put the lists in their places."""
    nowhere = list(doctree.findall(names_list))
    if not nowhere:
        return
    ran, said = places(pages_of(app.env))
    for node in nowhere:
        found = []
        for module in modules():
            ours = sorted(n for n in ran.keys() | said.keys() if _module(n) == module)
            if not ours or not f"{module}.".startswith(f"{node['of']}."):
                continue
            if module != node["of"]:
                found.append(nodes.paragraph("", "", nodes.strong("", module)))
            items = [
                _item(
                    name,
                    _links(app, docname, ran.get(name, ())),
                    _links(app, docname, said.get(name, ())),
                )
                for name in ours
            ]
            found.append(nodes.definition_list("", *items, classes=["names"]))
        node.replace_self(found or nodes.paragraph("", "No page names one of them."))


def _links(app, docname: str, where: Iterable[tuple[str, str]]) -> list[nodes.Node]:
    """Return links to sections, by page; each is called by its label.

    A label is short, and named for what its section is; the title comes on hovering.
    """
    labels = app.env.get_domain("std").labels
    by_page = defaultdict(list)
    for page, section in sorted(where):
        by_page[page].append(section)
    found: list[nodes.Node] = []
    for page, sections in by_page.items():
        found.append(nodes.Text(("; " if found else "") + f"{page}: "))
        for n, section in enumerate(sections):
            text = section.removeprefix(f"{page}-") if section != page else "top"
            address = app.builder.get_relative_uri(docname, page)
            title = labels[section][2] if section in labels else section
            link = nodes.reference(
                "",
                text,
                internal=True,
                refuri=f"{address}#{section}",
                reftitle=title,
            )
            found += [nodes.Text(", "), link] if n else [link]
    return found


def _module(written: str) -> str:
    """Return the module of a name, the longest of those that it could be in."""
    return max((m for m in modules() if written.startswith(f"{m}.")), key=len)


def _item(
    written: str, ran: list[nodes.Node], said: list[nodes.Node]
) -> nodes.definition_list_item:
    """Return the entry of a name."""
    owner = _owner(written)
    source = nodes.reference(
        "",
        "source",
        internal=False,
        refuri=public()[owner].address(),
        reftitle=f"{owner}, upstream",
    )
    term = nodes.term("", "", nodes.literal("", written), nodes.Text(" "), source)
    lines = [
        nodes.paragraph("", "", nodes.Text(f"{what} "), *where)
        for what, where in (("run in", ran), ("named in", said))
        if where
    ]
    return nodes.definition_list_item("", term, nodes.definition("", *lines))


def write_again(app, env) -> list[str]:
    """Return the pages with a list, if what they list has changed."""
    now = {page: (names.ran, names.said) for page, names in pages_of(env).items()}
    before, env.book_names_written = getattr(env, "book_names_written", None), now
    return [] if now == before else sorted(lists_of(env))


def share_now() -> dict[str, dict[str, object]]:
    """Return what `explained` returns for the pages as they stand in their folder."""
    with unexecuted() as doctrees:
        return explained({page: read(page, tree) for page, tree in doctrees.items()})


def changes(old: dict[str, dict], new: dict[str, dict]) -> list[str]:
    """Return how two records differ, a line for each name.

    >>> one, two = {"public": 2, "explained": ["a"]}, {"public": 2, "explained": ["b"]}
    >>> changes({"m": one}, {"m": two})
    ['- m.a', '+ m.b']
    """

    def names(record: dict[str, dict]) -> set[str]:
        return {f"{m}.{name}" for m in record for name in record[m]["explained"]}

    lines = [f"- {name}" for name in sorted(names(old) - names(new))]
    lines += [f"+ {name}" for name in sorted(names(new) - names(old))]
    for module in sorted(old.keys() | new.keys()):
        counts = [r.get(module, {}).get("public", 0) for r in (old, new)]
        if counts[0] != counts[1]:
            lines.append(f"{module} has {counts[1]} public names, had {counts[0]}")
    return lines


def accept() -> list[str]:
    """Record which names are explained, and return what has changed."""
    old = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    new = share_now()
    RECORD.write_text(json.dumps(new, indent=1) + "\n", "utf-8")
    return changes(old, new)


def main() -> None:
    """Print how the explained names differ from the record, or record them."""
    if sys.argv[1:] == ["--accept"]:
        lines = accept()
    else:
        lines = changes(json.loads(RECORD.read_text("utf-8")), share_now())
    print("\n".join(lines) or "The record of explained names is right.")


def setup(app):
    """Add the directive, and connect to the reading and writing of pages."""
    app.add_node(names_list)
    app.add_directive("names", NamesDirective)
    app.connect("env-updated", write_again)
    app.connect("doctree-resolved", fill)
    return {
        "env_version": 1,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
