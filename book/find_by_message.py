"""The directive ``{find-by-message}``: a field into which a reader pastes a traceback.

It finds the section that answers it, in the browser; nothing is sent anywhere. Without
JavaScript the field is not there. The work is done by ``docs/_static/answering.js``.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

HTML = """<div class="find-by-message pst-js-only">
<label for="find-by-message">Paste a traceback, or its last lines.
It stays in your browser.</label>
<textarea id="find-by-message" rows="6" spellcheck="false"></textarea>
<p role="status"></p>
<ol></ol>
</div>
<script src="_static/answering.js" defer></script>
"""


class find_by_message(nodes.General, nodes.Element):
    """Stands for the field."""


class FindByMessage(SphinxDirective):
    """Puts the field there."""

    def run(self) -> list[nodes.Node]:
        """Return what stands for the field."""
        return [find_by_message()]


def visit(self, node: nodes.Node) -> None:
    """Write the field."""
    self.body.append(HTML)
    raise nodes.SkipNode


def setup(app):
    """Add the directive."""
    app.add_node(find_by_message, html=(visit, None))
    app.add_directive("find-by-message", FindByMessage)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
