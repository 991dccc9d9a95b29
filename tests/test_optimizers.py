"""What the chapter *optimizers* only shows: masks, norms and averages as defined."""

import re

import hypothesis.strategies as st
import jax
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from kauldron import kd, kontext

from snippets import experiment
from snippets.optimizers import (
    averaged,
    chosen,
    clipping,
    distances,
    moved,
    norm_of,
    start,
    way,
)

NAMES = st.sampled_from(["a", "ab", "b", "kernel", "bias"])
TREES = st.recursive(
    st.just(0.0), lambda inner: st.dictionaries(NAMES, inner, min_size=1, max_size=3)
).filter(lambda tree: isinstance(tree, dict))


@given(tree=TREES, names=st.lists(NAMES, min_size=1, max_size=2))
@settings(max_examples=60, deadline=None)
def test_a_pattern_is_whole_names_in_a_row(tree, names):
    taken = chosen(kd.optim.select(".".join(names)), tree)
    left = chosen(kd.optim.exclude(".".join(names)), tree)
    paths = list(kontext.flatten_with_path(tree))
    assert sorted([*taken, *left]) == sorted(paths)
    for path in paths:
        parts = path.split(".")
        rows = [parts[at : at + len(names)] for at in range(len(parts))]
        assert (path in taken) == (names in rows)


@given(names=st.lists(NAMES, min_size=1, max_size=3, unique=True))
def test_several_patterns_choose_what_any_of_them_does(names):
    tree = {"a": {"kernel": 0.0, "bias": 0.0}, "ab": {"b": 0.0}}
    together = chosen(kd.optim.select(names), tree)
    each = [chosen(kd.optim.select(name), tree) for name in names]
    assert set(together) == set().union(*each)


def test_the_norm_of_a_tree_is_that_of_one_vector():
    rng = np.random.default_rng(0)
    tree = {"a": rng.normal(size=(3, 4)), "b": {"c": rng.normal(size=5)}}
    tree = jax.tree.map(lambda x: x.astype(np.float32), tree)
    found = norm_of("grads").get_state_from_context({"grads": tree}).compute()
    vector = np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(tree)])
    np.testing.assert_allclose(found, np.linalg.norm(vector), rtol=1e-6)


def test_the_way_is_the_distance():
    before = start()
    after = jax.tree.map(lambda x: x + 1, before)
    sizes = {
        layer: sum(x.size for x in jax.tree.leaves(before[layer])) for layer in before
    }
    expected = {
        layer: pytest.approx(size**0.5, rel=1e-6) for layer, size in sizes.items()
    }
    assert moved(before, after) == expected
    assert way(before, before) == "enc 0.000, out 0.000"


def test_the_average_of_all_steps_is_a_weighted_sum():
    """`ema_params` unrolled: each update's parameters times what is left of them."""
    average = kd.optim.ema_params(decay=0.9, debias=False)
    held, value = average.init(0.0), 0.0
    values = [0.0]
    for step in (1.0, -2.0, 3.0):
        held = average.update(step, held, value)[1]
        value += step
        values.append(value)
    weights = [0.9**3, *(0.1 * 0.9 ** (3 - n) for n in (1, 2, 3))]
    assert held.ema_params == pytest.approx(np.dot(weights, values))


def test_a_frozen_layer_stays_through_the_trainers_own_loop(tmp_path):
    head = kd.optim.partial_updates(optax.adam(1e-2), kd.optim.exclude("enc"))
    run = experiment.trainer(optimizer=head, num_train_steps=3, workdir=tmp_path)
    first = start()
    state, _ = run.train()
    assert moved(first, state.params)["enc"] == 0.0 < moved(first, state.params)["out"]


def test_the_pictures_show_their_numbers():
    picture = distances(
        {"one": {"enc": 1.0, "out": 0.5}, "two": {"enc": 0.0, "out": 2.0}}
    )
    assert repr(picture) == "one: enc 1.000, out 0.500\ntwo: enc 0.000, out 2.000"
    widths = [bar.get_width() for bar in picture.figure.axes[0].patches]
    assert sorted(widths) == [0.0, 0.5, 1.0, 2.0]
    assert repr(clipping({0: 2.0, 1: 0.5}, {0: 1.0, 1: 0.5}, 1.0)).endswith(
        "1 of 2 steps"
    )
    assert re.search(
        "parameters 0.5000, average 0.2500", repr(averaged({9: 0.5}, {9: 0.25}))
    )
