"""What the chapter *metrics* only shows: metrics are their formulas, however merged."""

import functools

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from kauldron import kd
from sklearn.metrics import recall_score, roc_auc_score

from snippets import experiment
from snippets.metrics import (
    Collected,
    Deep,
    FirstRows,
    Recall,
    Residuals,
    Spread,
    TopOne,
    checkerboard,
    gradient_history,
    layer_norms,
    measured,
    norms,
    tags,
)

# A batch of 12 rows, cut in these places. Few sizes, since JAX compiles for each.
cuts = st.sampled_from([(4, 8), (2, 8), ()])


def parts(arrays, cuts):
    """Return arrays by name, cut into batches."""
    split = {name: np.split(array, cuts) for name, array in arrays.items()}
    count = len(cuts) + 1
    return [{name: split[name][n] for name in split} for n in range(count)]


def merged(metric, arrays, cuts):
    """Return what a metric computes of batches, as an evaluation does."""
    states = [metric.get_state(**part) for part in parts(arrays, cuts)]
    return functools.reduce(lambda a, b: a.merge(b), states).finalize().compute()


def classified(seed, classes=3):
    rng = np.random.default_rng(seed)
    labels = np.concatenate(
        [np.arange(classes), rng.integers(0, classes, 12 - classes)]
    )
    logits = rng.normal(size=(12, classes)) + np.eye(classes)[labels]
    return {
        "logits": logits.astype(np.float32),
        "labels": labels.astype(np.int32)[:, None],
    }


def regressed(seed, offset=0.0):
    rng = np.random.default_rng(seed)
    preds = (rng.normal(size=(12, 2)) + offset).astype(np.float32)
    return {"preds": preds, "targets": rng.normal(size=(12, 2)).astype(np.float32)}


@given(seed=st.integers(0, 99), cuts=cuts)
@settings(max_examples=8, deadline=None)
def test_classes_are_measured_over_all_rows(seed, cuts):
    rows = classified(seed)
    logits, labels = rows["logits"], rows["labels"][:, 0]
    right = (logits.argmax(axis=1) == labels).mean()
    accuracy = kd.metrics.Accuracy(logits="l", labels="y")
    assert merged(accuracy, rows, cuts) == pytest.approx(right)
    flat = {"logits": logits, "labels": labels}
    assert merged(TopOne(), flat, cuts) == pytest.approx(right)

    several = np.eye(3, dtype=np.float32)[labels] + np.roll(np.eye(3), 1, 0)[labels]
    share = np.mean([several[row, logits[row].argmax()] for row in range(12)])
    found = merged(
        kd.metrics.Precision1(),
        {"logits": logits, "labels": several.astype(np.float32)},
        cuts,
    )
    assert found == pytest.approx(share)
    yes = {"logits": logits, "labels": several.astype(np.int32)}
    binary = merged(kd.metrics.BinaryAccuracy(), yes, cuts)
    assert binary == pytest.approx(((logits > 0) == (several > 0)).mean())

    by_class = merged(Recall(names=("a", "b", "c")), rows, cuts)
    expected = recall_score(labels, logits.argmax(axis=1), average=None)
    assert list(by_class.values()) == pytest.approx(list(expected))

    chance = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    area = merged(kd.metrics.RocAuc(), rows, cuts)
    assert area == pytest.approx(roc_auc_score(labels, chance, multi_class="ovr"))


@given(seed=st.integers(0, 99), cuts=cuts)
@settings(max_examples=8, deadline=None)
def test_residuals_are_measured_over_all_rows(seed, cuts):
    rows = regressed(seed)
    error = rows["preds"] - rows["targets"]
    found = merged(Residuals(), rows, cuts)
    assert found["mean"] == pytest.approx(error.mean(), abs=1e-5)
    assert found["spread"] == pytest.approx(error.std(), rel=1e-4)
    assert merged(Collected(), rows, cuts) == pytest.approx(np.median(abs(error)))


@given(
    seed=st.integers(0, 99), cuts=cuts, offset=st.sampled_from([0.0, 100.0, 10000.0])
)
@settings(max_examples=8, deadline=None)
def test_a_spread_keeps_its_digits(seed, cuts, offset):
    values = regressed(seed, offset)["preds"]
    expected = values.astype(np.float64).std()
    found = merged(Spread(), {"values": values}, cuts)
    assert found == pytest.approx(expected, rel=5e-3)


def test_std_loses_its_digits():
    values = regressed(0, 10000.0)["preds"]
    found = kd.metrics.Std()(values=jnp.asarray(values))
    assert abs(found - values.astype(np.float64).std()) > 0.1


@pytest.mark.parametrize("cuts", [(1,), (2, 4, 8), (6,)])
def test_the_first_rows_are_the_first_that_came(cuts):
    rows = regressed(0)["preds"]
    metric = FirstRows(keep=5)
    states = [metric.get_state(tensor=part) for part in np.split(rows, cuts)]
    state = functools.reduce(lambda a, b: a.merge(b), states).finalize()
    np.testing.assert_array_equal(state.rows, rows[:5])
    assert state.compute() == {}


@given(seed=st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_norms_of_a_tree(seed):
    rng = np.random.default_rng(seed)
    shapes = {"a": {"kernel": (3, 4), "bias": (4,)}, "b": {"kernel": (4, 1)}}
    tree = jax.tree.map(
        lambda shape: rng.normal(size=shape).astype(np.float32),
        shapes,
        is_leaf=lambda node: isinstance(node, tuple),
    )
    found = {
        name: metric(context={"grads": tree})
        for name, metric in layer_norms(tensor="grads").items()
    }
    assert found["all"] == pytest.approx(float(optax.tree.norm(tree)), rel=1e-5)
    for layer, tensors in tree.items():
        for name, values in tensors.items():
            norm = np.linalg.norm(values.ravel())
            assert found["each"][layer][name] == pytest.approx(norm, rel=1e-5)
    kernels = layer_norms()["each"](context={"grads": tree})
    assert jax.tree.structure(kernels).num_leaves == 2


def test_the_gradients_measured_are_those_of_the_step():
    run = experiment.trainer(
        model=Deep(), train_metrics=layer_norms(), optimizer=optax.sgd(1.0)
    )
    state, batch = run.init_state(), next(iter(run.train_ds))
    before = jax.tree.map(np.asarray, state.params)
    state, aux = run.trainstep.step(
        state, batch, return_losses=True, return_metrics=True
    )
    values = aux.compute().metric_values
    for name in ("layer0", "layer4", "out"):
        step = before[name]["kernel"] - np.asarray(state.params[name]["kernel"])
        found = values[f"metrics/each/{name}/kernel"]
        assert found == pytest.approx(np.linalg.norm(step.ravel()), rel=1e-2)


def test_the_norms_drawn_are_the_history():
    history = gradient_history(Deep(squash=False), steps=3, every=2)
    assert set(history) == {*(f"layer{n}" for n in range(5)), "out", "all"}
    assert all(list(points) == [0, 2] for points in history.values())
    (axes,) = norms({"ReLU": history}).figure.axes
    assert axes.get_yscale() == "log" and axes.get_title() == "ReLU"
    for line in axes.lines:
        assert list(line.get_ydata()) == list(history[line.get_label()].values())
    assert len(axes.lines) == 5


def test_the_evaluation_is_over_all_rows(tmp_path):
    run = measured(tmp_path, num_train_steps=0)
    state = run.init_state()
    found = run.evals["test"].evaluate(state, step=7).compute().metric_values
    rows = experiment.evaluation_rows()
    preds = run.model.apply({"params": state.params}, rows["x"])["y"]
    assert found["metrics/median"] == pytest.approx(
        float(np.median(abs(preds - rows["y"]))), rel=1e-4
    )
    assert not any("gradients" in name for name in found)
    assert set(tags(tmp_path / "test")["metrics/median"]) == {7}


@given(noise=st.floats(0.0625, 0.25, width=32))
@settings(max_examples=10, deadline=None)
def test_psnr_is_the_error_in_decibels(noise):
    image = checkerboard()
    found = kd.metrics.Psnr()(pred=jnp.asarray(image + noise), target=image)
    error = np.square(np.float64(image + noise) - image).mean()
    assert found == pytest.approx(-10 * np.log10(error), rel=1e-3)


def test_the_checkerboard_has_as_much_light_as_dark():
    image = checkerboard()
    assert set(np.unique(image)) == {0.25, 0.75} and image.mean() == 0.5
    corner = image[0, 0, 0, 0]
    assert corner == image[0, 3, 3, 0] != image[0, 0, 4, 0]
