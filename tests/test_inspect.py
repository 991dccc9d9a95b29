"""What the chapter *inspect* only shows: words out of HTML, trees, arrows, programs."""

import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given
from kauldron import kd

from snippets import experiment
from snippets.inspect import (
    Block,
    Nested,
    different,
    displayed,
    donated,
    edges,
    flops,
    overview,
    plain,
    points,
    schedules,
    wiring,
)

LEAVES = st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), min_size=1)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("408", "408"),
        (408, "408"),
        ('<span title="a > b"><b>x</b>: f32[2\xa03]</span>', "x: f32[2 3]"),
        ("a<br>b", "a, b"),
        ("&lt;b&gt;", "<b>"),
    ],
)
def test_words_are_what_a_browser_would_show(markup, text):
    assert plain(markup) == text


@given(old=LEAVES, new=LEAVES)
def test_trees_differ_where_their_leaves_do(old, new):
    found = different(old, new)
    assert found == {
        name: (old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }
    assert different(old, old) == {}


def test_the_overview_counts_each_layer_once():
    run = experiment.trainer(model=Nested())
    table = overview(run)
    variables = jax.eval_shape(run.model.init, jax.random.key(0), np.zeros((2, 16)))
    sizes = [leaf.size for leaf in jax.tree.leaves(variables)]
    assert table["Own Params"].sum() == sum(sizes)
    outputs = [plain(value) for value in table["Outputs"]]
    assert outputs[0] == "y: f32[32 1]"
    block = jax.eval_shape(
        lambda: Block().init_with_output(jax.random.key(0), np.zeros((32, 16)))[0]
    )
    assert outputs[1] == f"f32[{' '.join(map(str, block.shape))}]"


def test_what_would_be_displayed_is_under_its_title():
    off = dict.fromkeys(
        (
            "print_cfg",
            "inspect_dataset",
            "inspect_params",
            "inspect_sharding",
            "inspect_connected",
            "profile_statix",
        ),
        False,
    )
    run = experiment.trainer()
    for switch, title in (
        ("inspect_dataset", "Batch statistics"),
        ("inspect_connected", "Connected components:"),
        ("inspect_sharding", "Sharding"),
    ):
        (one,) = displayed(
            lambda: kd.inspect.show_trainer_info(run, **off | {switch: True})  # noqa: B023
        )
        assert one.under == title


def test_images_of_a_batch_are_displayed_too():
    batch = {"image": np.zeros((9, 8, 8, 1), np.uint8)}
    (one,) = displayed(lambda: kd.inspect.plot_batch(batch))
    assert one.under == "" and one.what.shape == (8, 8, 8, 1)


def test_a_block_that_raises_leaves_nothing_replaced():
    before = kd.inspect.plot_batch, displayed(lambda: None)
    with pytest.raises(ZeroDivisionError):
        displayed(lambda: 1 / 0)
    assert before == (kd.inspect.plot_batch, [])


def test_the_drawing_has_the_arrows_of_the_graph():
    run = experiment.trainer()
    arrows = edges(kd.inspect.get_connection_graph(run))
    picture = wiring(run)
    assert repr(picture) == "\n".join(f"{left} → {right}" for left, right in arrows)
    names = {text.get_text() for text in picture.figure.axes[0].texts} - {""}
    assert names == {"batch.x", "batch.y", "model", "preds.y", "log_cosh", "near"}


def test_the_program_overwrites_the_state():
    run = experiment.trainer()
    taken, overwritten = donated(run)
    assert overwritten == len(jax.tree.leaves(run.state_specs))
    assert taken == overwritten + len(jax.tree.leaves(run.train_ds.element_spec))


def test_the_operations_are_those_of_the_products():
    # Forward, the gradient of the weights, and for the second layer of its inputs.
    rows, width = 32, 512
    products = rows * (2 * 16 * width + 3 * width * 1) * 2
    assert flops(width) == pytest.approx(products, rel=0.4)


class Chart:
    """Two points of a schedule, as Altair keeps them."""

    def to_dict(self):
        rows = [
            {"Schedule": "rate", "Step": 0, "Value": 0.5},
            {"Schedule": "rate", "Step": 0, "Value": 0.5},
            {"Schedule": "rate", "Step": 9, "Value": 0.25},
        ]
        return {"datasets": {"data-1": rows}}


def test_a_schedule_is_drawn_from_the_chart():
    numbers = points(Chart())
    assert numbers == {"rate": {0: 0.5, 9: 0.25}}
    picture = schedules(numbers)
    assert repr(picture) == "rate: from 0.5000 up to 0.5000, at step 9 0.2500"
    (line,) = picture.figure.axes[0].get_lines()
    assert list(line.get_ydata()) == [0.5, 0.25]
