"""The directives of the page *compatibility*, which is made from a record.

``{compatibility-grid}`` is a table of combinations and chapters, and
``{compatibility-runs}`` says what was found in each. `make compat` writes the record;
nothing of it is typed.

Each combination and each chapter under it has an address that stays while it is in the
matrix, such as ``#compat-tutorial-trainer``, however the chapter came out.

How old the record is depends on the day on which it is read. A build must not, so
``docs/_static/compatibility.js`` says it, in the browser; without scripts the dates
stand there.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from book.cells import ROOT

RECORD = ROOT / "snippets" / "recorded" / "compat.json"
SCRIPT = "compatibility.js"

# Makes a link to a section of the book from its label.
Link = Callable[[str], nodes.Node]

# How a chapter can come out.
RESULTS = ("same", "differs", "fails")
_KINDS = {
    "fails": "a cell fails",
    "differs": "a cell prints something else",
    "claim": "what a sentence says does not hold",
}


class compatibility(nodes.General, nodes.Element):
    """Stands for the table or the list until all pages have been read.

    So their words are no prose of ours to the checks, nor to the search.
    """


class Compatibility(SphinxDirective):
    """Puts the table or the list there, whichever it is called for."""

    def run(self) -> list[nodes.Node]:
        """Return what stands for it."""
        self.env.note_dependency(str(RECORD))
        return [compatibility(part=self.name)]


def grid(found: dict[str, dict]) -> nodes.table:
    """Return the table of combinations and chapters."""
    chapters = _usual(found)
    heads = ["set", *chapters, "others"]
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in heads))
    group["cols"] = len(heads)
    group += nodes.thead("", _row([[nodes.Text(head)] for head in heads]))
    body = nodes.tbody()
    group += body
    for name, entry in found.items():
        link = [_link(name, _address(name))]
        if entry["installed"]:
            cells = [_result(name, entry, page) for page in chapters]
            body += _row([link, *cells, _others(name, entry, chapters)])
        else:
            word = _word("fails", _address(name), "cannot be installed")
            body += _row([link, [word]])
            body[-1][-1]["morecols"] = len(heads) - 2
    return nodes.table("", group, classes=["compat"])


def runs(found: dict[str, dict], link: Link) -> nodes.definition_list:
    """Return the list of combinations, with their versions and what was found.

    Args:
      found: the combinations.
      link: makes a link to a section from its label.
    """
    items = []
    for name, entry in found.items():
        term = nodes.term("", name, ids=[_address(name)])
        body = nodes.definition("", *_about(entry), *_chapters(name, entry, link))
        items.append(nodes.definition_list_item("", term, body))
    return nodes.definition_list("", *items, classes=["compat-runs"])


class finding(nodes.General, nodes.Element):
    """What was found in a chapter, folded below a line that says how it came out."""


def _usual(found: dict[str, dict]) -> list[str]:
    """Return the chapters that most combinations have run, in their order."""
    ran = [entry["chapters"] for entry in found.values() if entry["installed"]]
    counts = Counter(page for chapters in ran for page in chapters)
    usual = {page for page, count in counts.items() if 2 * count > len(ran)}
    # Those that run all chapters have them in another order.
    inside = [list(each) for each in ran if usual <= set(each)]
    return [page for page in min(inside, key=len, default=usual) if page in usual]


def _row(cells: Iterable[list[nodes.Node]]) -> nodes.row:
    entries = [nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells]
    return nodes.row("", *entries)


def _result(name: str, entry: dict, page: str) -> list[nodes.Node]:
    if page not in entry["chapters"]:
        return [nodes.Text("not run")]
    result = entry["chapters"][page]["result"]
    to = "" if result == "same" else _address(name, page)
    return [_word(result, to, result)]


def _others(name: str, entry: dict, usual: list[str]) -> list[nodes.Node]:
    """Return how the chapters came out that not all combinations run: counts."""
    results = [c["result"] for p, c in entry["chapters"].items() if p not in usual]
    found: list[nodes.Node] = []
    for result in RESULTS:
        if count := results.count(result):
            to = "" if result == "same" else _address(name)
            found += [_word(result, to, f"{count} {result}"), nodes.Text(" ")]
    return found[:-1]


def _word(result: str, to: str, word: str) -> nodes.Node:
    """Return how something came out, as a word on the ground of that result."""
    text = _link(word, to) if to else nodes.Text(word)
    return nodes.inline("", "", text, classes=["compat-result", f"compat-{result}"])


def _link(words: str, to: str) -> nodes.reference:
    return nodes.reference("", words, internal=True, refid=to)


def _address(name: str, page: str = "") -> str:
    """Return the id of a combination, or of a chapter under it."""
    return nodes.make_id("-".join(filter(None, ("compat", name, page))))


def _measured(date: str) -> nodes.paragraph:
    dated = nodes.inline("", date, classes=["measured"])
    return nodes.paragraph("", "", nodes.Text("Measured "), dated, nodes.Text("."))


def _about(entry: dict) -> Iterator[nodes.Node]:
    """Yield why a combination is tried, and its versions."""
    yield nodes.paragraph("", entry["why"])
    versions = {"Python": entry["python"]} | entry["versions"]
    if entry["installed"]:
        listed = ", ".join(f"{each} {number}" for each, number in versions.items())
        paragraph = _measured(entry["measured"])
        paragraph.insert(0, nodes.Text(f"{listed}. "))
        yield paragraph
        return
    asked = ", ".join(f"{each} {number}" for each, number in entry["asked"].items())
    yield nodes.paragraph("", f"Asked for: {asked or 'the newest of everything'}.")
    yield _measured(entry["measured"])
    yield _block(entry["error"])


def _chapters(name: str, entry: dict, link: Link) -> Iterator[nodes.Node]:
    """Yield what was found in the chapters, those that came out the same last."""
    same = nodes.paragraph("", "Same: ")
    for page, chapter in entry["chapters"].items():
        if chapter["result"] == "same":
            comma = ", " if len(same) > 1 else ""
            same += nodes.Text(comma)
            same += nodes.inline("", page, ids=[_address(name, page)])
            continue
        title = f"{page}: {chapter['result']}"
        found = finding(title=title, result=chapter["result"])
        found["ids"] = [_address(name, page)]
        for each in chapter["findings"]:
            found += _place(each, link)
            found += _block(each["text"])
        if more := chapter.get("more"):
            found += nodes.paragraph("", f"Not shown: {more} more.")
        yield found
    if len(same) > 1:
        yield nodes.paragraph("", "", *same.children, nodes.Text("."))


def _place(each: dict, link: Link) -> nodes.paragraph:
    cell = f", cell {each['cell']}" if each["cell"] else ""
    words = f"{cell}, line {each['line']}: {_KINDS[each['kind']]}"
    if again := each.get("again"):
        words += f", and {again} more with the same message"
    return nodes.paragraph("", "", link(each["section"]), nodes.Text(f"{words}."))


def _block(text: str) -> nodes.literal_block:
    # Sphinx takes a block whose source is not its text for one with markup in it.
    return nodes.literal_block(text, text, language="text")


def fill(app, doctree: nodes.document, docname: str) -> None:
    """Put the table and the list in their places."""
    labels = app.env.get_domain("std").labels

    def link(label: str) -> nodes.Node:
        if label not in labels:  # the section is gone
            return nodes.Text(label)
        page, _, title = labels[label]
        to = f"{app.builder.get_relative_uri(docname, page)}#{label}"
        return nodes.reference("", label, internal=True, refuri=to, reftitle=title)

    for node in list(doctree.findall(compatibility)):
        record = json.loads(RECORD.read_text("utf-8"))
        if node["part"] == "compatibility-runs":
            node.replace_self(runs(record["combinations"], link))
        else:
            date = _measured(record["measured"])
            node.replace_self([date, grid(record["combinations"])])


def visit(translator, node: finding) -> None:
    """Open a folded finding."""
    page, _, word = map(translator.encode, node["title"].partition(": "))
    result = f'<span class="compat-result compat-{node["result"]}">{word}</span>'
    translator.body.append(
        f'<details class="compat-finding" id="{node["ids"][0]}">\n'
        f"<summary>{page}: {result}</summary>\n"
    )


def depart(translator, node: finding) -> None:
    """Close it."""
    translator.body.append("</details>\n")


def add_script(app, pagename, templatename, context, doctree) -> None:
    """Let the one page that has dates of measurements say how old they are."""
    if doctree is not None and any(
        "measured" in node["classes"] for node in doctree.findall(nodes.inline)
    ):
        app.add_js_file(SCRIPT, loading_method="defer")


def setup(app):
    """Add the directives."""
    app.add_node(finding, html=(visit, depart))
    app.add_node(compatibility)
    app.add_directive("compatibility-grid", Compatibility)
    app.add_directive("compatibility-runs", Compatibility)
    app.connect("doctree-resolved", fill)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
