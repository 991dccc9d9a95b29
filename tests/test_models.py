"""What the chapter *models* only shows: shapes, wrappers, and modules of its own."""

import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from kauldron import kd, kontext

from snippets import experiment
from snippets.models import (
    PARTS,
    Calm,
    Dense3,
    Noted,
    Reading,
    Rows,
    Scaled,
    Twice,
    Unscaled,
    bars,
    by_part,
    count,
    digits_run,
    filled,
    first_weights,
    held,
    inside,
    planned,
    tiny_vit,
)

X = np.random.default_rng(0).normal(size=(4, 16)).astype(np.float32)
IMAGES = np.ones((2, 8, 8, 1), np.float32)
SIDES = st.integers(1, 3)


@given(h=SIDES, w=SIDES, p=SIDES, q=SIDES, c=SIDES)
@settings(max_examples=20, deadline=None)
def test_patches_lose_nothing_and_go_from_left_to_right_and_down(h, w, p, q, c):
    image = np.random.default_rng(0).normal(size=(2, h * p, w * q, c))
    image = image.astype(np.float32)
    tokens = np.asarray(kd.nn.Patchify((p, q)).apply({}, image))
    assert tokens.shape == (2, h * w, p * q * c)
    for number in range(h * w):
        top, left = number // w * p, number % w * q
        patch = image[:, top : top + p, left : left + q]
        assert (tokens[:, number] == patch.reshape(2, -1)).all()


def test_what_is_planned_is_what_is_drawn():
    model = experiment.MLP()
    outputs, variables = model.init_with_output(jax.random.key(0), X)
    assert planned(model, X)[0]["y"].shape == outputs["y"].shape
    shapes = {
        path: leaf.shape
        for path, leaf in kontext.flatten_with_path(variables["params"]).items()
    }
    assert held(model, X) == shapes
    assert count(planned(model, X)[1]) == count(variables)


def test_filled_variables_fit_and_are_the_same_each_time():
    model = kd.nn.PreNormBlock.from_spec(num_heads=2)
    tokens = X.reshape(2, 4, 8)
    weights = filled(model, tokens)
    assert jax.tree.map(np.shape, weights) == jax.tree.map(
        lambda leaf: leaf.shape, planned(model, tokens)[1]
    )
    again = filled(model, tokens)
    assert jax.tree.all(jax.tree.map(np.array_equal, weights, again))
    norm = weights["params"]["mlp_norm"]
    assert (norm["scale"] == 1).all() and (norm["bias"] == 0).all()


def test_what_a_trainer_records_is_what_inside_lists():
    specs = experiment.trainer(model=Noted()).context_specs
    assert sorted(kontext.flatten_with_path(specs.interms)) == inside(Noted(), X)


def test_a_note_is_read_from_outside_and_is_what_was_noted():
    params = experiment.MLP().init(jax.random.key(0), X)["params"]
    outputs = Reading(Noted()).apply(
        {"params": {"model": params}}, X, mutable="intermediates"
    )[0]
    hidden = X @ params["enc"]["kernel"] + params["enc"]["bias"]
    np.testing.assert_array_equal(outputs["active"], hidden > 0)
    np.testing.assert_allclose(
        outputs["y"], experiment.MLP().apply({"params": params}, X)["y"], rtol=1e-6
    )


def test_calm_stays_calm_at_any_depth_and_leaves_the_rest_alone():
    dropout = kd.nn.Dropout(0.5)
    model = kd.nn.Sequential([Calm(kd.nn.Sequential([dropout])), kd.nn.Dropout(1.0)])
    rngs = {"dropout": jax.random.key(0)}
    assert not model.apply({}, X, is_training_property=True, rngs=rngs).any()
    calm = Calm(kd.nn.Sequential([dropout]))
    np.testing.assert_array_equal(
        calm.apply({}, X, is_training_property=True, rngs=rngs), X
    )
    told = Twice().apply({}, X, is_training_property=True, rngs=rngs)
    np.testing.assert_array_equal(told["calm"], X)
    assert (told["as told"] == 0).any()


def test_the_wrappers_keep_paths_and_keys():
    scaled = Scaled(model=experiment.MLP(hidden=3), by=2.0)
    assert held(scaled, X) == held(experiment.MLP(hidden=3), X)
    assert kontext.get_keypaths(scaled) == {"x": "batch.x"}
    params = experiment.MLP(hidden=3).init(jax.random.key(0), X)
    np.testing.assert_allclose(
        scaled.apply(params, X)["y"],
        experiment.MLP(hidden=3).apply(params, X / 2)["y"],
        rtol=1e-6,
    )


def test_the_modules_of_the_page_are_what_they_say():
    assert Rows().apply({}, IMAGES).shape == (2, 8, 8)
    lengths = np.linalg.norm(Unscaled().apply({}, 5 * X), axis=-1)
    np.testing.assert_allclose(lengths, 1, rtol=1e-4)
    assert held(Dense3(("a", "b")), X[:, :3])["b.kernel"] == (3, 3)


def test_a_layer_is_drawn_by_its_name():
    assert first_weights("a")["a"] == first_weights("b", "a")["a"]
    assert first_weights("a")["a"] != first_weights("b")["b"]


def test_the_parts_of_the_tiny_transformer_add_up():
    params = planned(tiny_vit(), IMAGES)[1]["params"]
    counts = by_part(params, PARTS)
    assert sum(counts.values()) == count(params)
    assert counts["classes"] == 32 * 10 + 10
    norms = held(tiny_vit(), IMAGES)
    rest = sum(np.prod(norms[path]) for path in norms if "norm" in path)
    assert counts["the rest"] == rest
    with pytest.raises(KeyError):
        by_part(params, {"none": "nothing"})


def test_the_bars_are_as_long_as_the_counts():
    picture = bars({"one": 3, "two": 5})
    assert repr(picture) == "one: 3\ntwo: 5"
    assert [bar.get_width() for bar in picture.figure.axes[0].patches] == [3, 5]


def test_the_run_is_about_digits():
    run = digits_run(num_train_steps=7)
    assert run.num_train_steps == 7
    batch = next(iter(run.train_ds))
    assert batch["image"].shape == (64, 8, 8, 1) and batch["image"].max() <= 1
    assert planned(run.model, batch["image"])[0]["logits"].shape == (64, 10)
    assert isinstance(run.model.encoder.embedding, kd.nn.PatchifyEmbed)
