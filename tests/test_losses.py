"""What the chapter *losses* only shows: the losses are their formulas, in any shape."""

import math

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from kauldron import kd

from snippets.losses import (
    DISTANCES,
    Square,
    calibration,
    class_weights,
    distances,
    fit,
    penalised,
    pull_of_one,
    ramp,
    rare_rows,
    reliability,
    slopes,
)

numbers = st.floats(-50, 50, width=32)
# Few, since JAX compiles for each.
shapes = st.sampled_from([(1,), (2, 3), (2, 1, 4)])


@st.composite
def pairs(draw):
    """Return two float32 arrays of one shape."""
    shape = draw(shapes)
    array = hnp.arrays(np.float32, shape, elements=numbers)
    return draw(array), draw(array)


@st.composite
def classified(draw):
    """Return logits `(n, classes)` and the index of the right class `(n, 1)`."""
    rows, classes = 3, draw(st.sampled_from([2, 5]))
    logits = draw(hnp.arrays(np.float32, (rows, classes), elements=numbers))
    index = draw(hnp.arrays(np.int32, (rows, 1), elements=st.integers(0, classes - 1)))
    return logits, index


def huber(error, delta):
    size = abs(error)
    return size**2 / 2 if size < delta else delta * size - delta**2 / 2


@given(pair=pairs(), delta=st.floats(0.125, 8, width=32))
@settings(max_examples=60, deadline=None)
def test_distances_are_their_formulas(pair, delta):
    preds, targets = pair
    error = preds.astype(np.float64) - targets
    for loss, expected in (
        (kd.losses.L1(), np.abs(error)),
        (kd.losses.L2(), error**2),
        (kd.losses.Huber(delta=delta), np.vectorize(huber)(error, delta)),
    ):
        values = loss.get_values(preds=preds, targets=targets)
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-4)
        mean = loss(preds=preds, targets=targets)
        np.testing.assert_allclose(mean, expected.mean(), rtol=1e-5, atol=1e-4)


@given(pair=pairs())
@settings(max_examples=40, deadline=None)
def test_values_are_taken_as_they_are(pair):
    values = pair[0]
    for loss, expected in (
        (kd.losses.Value(), values),
        (kd.losses.AbsoluteValue(), np.abs(values)),
        (Square(), values**2),
    ):
        np.testing.assert_array_equal(loss.get_values(values=values), expected)


@given(pair=pairs())
@settings(max_examples=40, deadline=None)
def test_cosine_is_that_of_the_angle(pair):
    preds, targets = (values.astype(np.float64) for values in pair)
    found = kd.losses.NegativeCosineSimilarity().get_values(
        preds=pair[0], targets=pair[1]
    )
    lengths = np.linalg.norm(preds, axis=-1) * np.linalg.norm(targets, axis=-1)
    assert found.shape == (*preds.shape[:-1], 1)
    for value, dot, length in zip(
        np.ravel(found),
        np.ravel((preds * targets).sum(-1)),
        lengths.ravel(),
        strict=True,
    ):
        if length > 1e-3:
            assert value == pytest.approx(-dot / length, abs=1e-4)


@given(case=classified())
@settings(max_examples=60, deadline=None)
def test_cross_entropies_are_minus_the_log_of_what_was_said(case):
    logits, index = case
    exact = logits.astype(np.float64)
    top = exact.max(axis=-1, keepdims=True)
    log_sum = top + np.log(np.exp(exact - top).sum(axis=-1, keepdims=True))
    expected = log_sum - np.take_along_axis(exact, index, axis=-1)
    one_hot = np.eye(logits.shape[1], dtype=np.float32)[index[:, 0]]
    by_index = kd.losses.SoftmaxCrossEntropyWithIntLabels()
    by_share = kd.losses.SoftmaxCrossEntropy()
    for loss, labels in ((by_index, index), (by_share, one_hot)):
        values = loss.get_values(logits=logits, labels=labels)
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-5)

    each = kd.losses.SigmoidBinaryCrossEntropy()
    signed = np.where(one_hot == 1, exact, -exact)
    np.testing.assert_allclose(
        each.get_values(logits=logits, labels=one_hot),
        np.logaddexp(0, -signed),
        rtol=1e-5,
        atol=1e-6,
    )


@given(
    rows=st.sampled_from([1, 5]),
    columns=st.sampled_from([1, 3]),
    seed=st.integers(0, 99),
    by=st.sampled_from(["mask", "values"]),
    weight=st.floats(-4, 4, width=32),
)
@settings(max_examples=40, deadline=None)
def test_a_weighted_mask_is_a_weighted_mean(rows, columns, seed, by, weight):
    rng = np.random.default_rng(seed)
    preds = rng.normal(size=(rows, columns)).astype(np.float32)
    mask = rng.uniform(0.5, 5, size=(rows, 1)).astype(np.float32)
    loss = kd.losses.L1(normalize_by=by, weight=weight)
    found = loss(preds=preds, targets=np.zeros_like(preds), mask=mask)
    count = columns * mask.sum() if by == "mask" else preds.size
    expected = weight * (np.abs(preds) * mask).sum() / count
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@given(error=st.floats(-5, 5, width=32))
@settings(max_examples=30, deadline=None)
def test_slopes_are_the_derivatives(error):
    errors = np.array([error], np.float32)
    assert slopes(DISTANCES["L2"], errors)[0] == pytest.approx(2 * error)
    assert slopes(DISTANCES["Huber"], errors)[0] == pytest.approx(np.clip(error, -1, 1))
    if error:
        assert slopes(DISTANCES["L1"], errors)[0] == np.sign(error)


@pytest.mark.parametrize("valid", range(1, 9))
def test_what_one_value_counts(valid):
    by_mask, by_values = (kd.losses.L1(normalize_by=by) for by in ("mask", "values"))
    assert pull_of_one(by_mask, valid) == pytest.approx(1 / valid)
    assert pull_of_one(by_values, valid) == pytest.approx(1 / 8)


@pytest.mark.parametrize("positive", [0.5, 1, 3])
def test_a_class_weight_multiplies_the_odds(positive):
    rows = rare_rows()
    slope, intercept = fit(rows, positive)
    assert slope == pytest.approx(2, abs=0.15)
    assert intercept == pytest.approx(-3 + math.log(positive), abs=0.15)
    predicted, observed = calibration(rows, (slope, intercept))
    odds = predicted / (1 - predicted) / positive
    np.testing.assert_allclose(observed, odds / (1 + odds), atol=0.03)


def test_the_weights_of_rows_are_those_of_their_classes():
    label = np.array([[0], [1], [1]], np.int32)
    assert class_weights(label, 4).ravel().tolist() == [1, 4, 4]


def params():
    rng = np.random.default_rng(3)
    return {
        "enc": {"kernel": rng.normal(size=(3, 4)), "bias": rng.normal(size=4)},
        "out": {"kernel": rng.normal(size=(4, 1)), "bias": rng.normal(size=1)},
    }


def test_a_penalty_on_a_pattern_pools_or_sums_the_means():
    tree = jax.tree.map(jnp.float32, params())
    kernels = [tree["enc"]["kernel"], tree["out"]["kernel"]]
    penalty = Square(values="params.**.kernel", step=None, weight=0.5)
    pooled = {"p": kd.metrics.TreeReduce(metric=penalty)}
    apart = {"p": kd.metrics.TreeMap(metric=penalty)}

    def total(losses, tree):
        context = {"params": tree, "step": 0}
        return kd.losses.compute_losses(losses, context)[0]

    squares = np.concatenate([np.ravel(k) ** 2 for k in kernels])
    assert total(pooled, tree) == pytest.approx(0.5 * squares.mean(), rel=1e-5)
    means = sum(float((k**2).mean()) for k in kernels)
    assert total(apart, tree) == pytest.approx(0.5 * means, rel=1e-5)
    gradient = jax.grad(total, argnums=1)(pooled, tree)
    np.testing.assert_allclose(
        gradient["out"]["kernel"], kernels[1] / squares.size, rtol=1e-5
    )
    assert not gradient["enc"]["bias"].any()


def test_the_gradient_of_a_step_is_that_of_the_weighted_sum():
    """A penalty of weight 2 pulls twice as hard as one of weight 1."""
    gradients = []
    for weight in (0.0, 1.0, 2.0):
        run = penalised(weight, optimizer=optax.sgd(1.0))
        state, batch = run.init_state(), next(iter(run.train_ds))
        before = np.asarray(state.params["enc"]["kernel"])
        after = run.trainstep.step(state, batch)[0].params["enc"]["kernel"]
        gradients.append(before - after)
    once, twice = (g - gradients[0] for g in gradients[1:])
    np.testing.assert_allclose(once, np.sign(before) / before.size, atol=1e-5)
    np.testing.assert_allclose(twice, 2 * once, atol=1e-5)


def test_the_distances_drawn_are_the_losses():
    left, right = distances().figure.axes
    for line, slope, (name, loss) in zip(
        left.lines, right.lines, DISTANCES.items(), strict=True
    ):
        assert line.get_label() == name
        errors = np.asarray(line.get_xdata())
        np.testing.assert_array_equal(
            line.get_ydata(), loss.get_values(preds=errors, targets=0 * errors)
        )
        np.testing.assert_array_equal(slope.get_ydata(), slopes(loss, errors))


def test_the_reliability_drawn_is_the_calibration():
    rows = rare_rows(2048)
    lines = {weight: fit(rows, weight) for weight in (1, 4)}
    picture = reliability(rows, lines)
    diagonal, one, four, curve = picture.figure.axes[0].lines
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata()) == [0, 1]
    for points, weight in ((one, 1), (four, 4)):
        predicted, observed = calibration(rows, lines[weight])
        np.testing.assert_array_equal(points.get_xdata(), predicted)
        np.testing.assert_array_equal(points.get_ydata(), observed)
    middle = list(curve.get_xdata()).index(0.5)
    assert curve.get_ydata()[middle] == pytest.approx(1 / 5)
    assert "weight 4" in repr(picture)


def test_the_ramp_drawn_is_what_was_written():
    written = {
        "metrics/size": {0: 0.5, 10: 0.4},
        "losses/penalty": {0: 0.0, 10: 0.2},
    }
    size, penalty = ramp(written).figure.axes[0].lines
    assert list(size.get_ydata()) == [0.5, 0.4]
    assert list(penalty.get_xdata()) == [0, 10]
