"""What the chapter *ideas* only shows: its drawing and its map hold what they name."""

import re

import pytest
from kauldron import kontext

from book.cells import DOCS, pages
from snippets.experiment import trainer
from snippets.ideas import draw_flow


def drawn() -> list[str]:
    return [text.get_text() for text in draw_flow().figure.axes[0].texts]


@pytest.mark.parametrize("path", ["batch.x", "preds.y", "batch.y"])
def test_the_paths_in_the_drawing_are_paths_of_the_experiment(path):
    assert any(path in text for text in drawn())
    assert kontext.get_by_path(trainer().context_specs, path).shape[0] == 32


def test_the_roots_in_the_drawing_are_those_of_a_context():
    (box,) = [text for text in drawn() if text.startswith("context:")]
    for name in re.findall(r"\w+", box.removeprefix("context:")):
        assert hasattr(trainer().context_specs, name)


def test_the_map_names_every_chapter():
    text = (DOCS / "ideas.md").read_text("utf-8")
    linked = set(re.findall(r"\]\(([\w-]+)\.md\)", text))
    assert set(pages()) - linked == {
        "index",
        "install",
        "ideas",
        "editions",
        "names",
        "how-it-is-built",
        "how-it-is-checked",
    }
