"""What the chapter *from-flax-and-optax* only shows: its script, and the counting."""

import itertools

import jax
import numpy as np
import optax
import pytest
from flax.training.train_state import TrainState

from snippets.experiment import evaluation_rows, training_data, training_rows
from snippets.from_flax_and_optax import (
    PIECES,
    Net,
    batches,
    code_lines,
    evaluate,
    mean_log_cosh,
    measure,
    near,
    overlay,
    script,
    step,
    with_kauldron,
)
from snippets.resume import largest_difference
from snippets.trainer import scalars


def fresh(seed: int = 0):
    """Return a state of the script's model with parameters of its own."""
    net = Net(hidden=4)
    params = net.init(jax.random.key(seed), training_rows()["x"][:1])["params"]
    return TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))


@pytest.mark.parametrize("seed", [0, 5])
def test_the_batches_are_the_pipelines(seed):
    mine = itertools.islice(batches(training_rows(), seed), 35)
    for batch, other in zip(mine, training_data(seed=seed), strict=False):
        assert batch.keys() == other.keys()
        for name, array in batch.items():
            np.testing.assert_array_equal(array, other[name])


def test_an_epoch_is_each_row_once():
    seen = [b["y"] for b in itertools.islice(batches(training_rows(), 3), 16)]
    everything = np.sort(np.concatenate(seen), axis=None)
    np.testing.assert_array_equal(everything, np.sort(training_rows()["y"], axis=None))


def test_a_step_is_gradient_descent():
    state, batch = fresh(), next(batches(training_rows(), 0))

    def loss(params):
        return mean_log_cosh(state.apply_fn({"params": params}, batch["x"]), batch["y"])

    value, grads = jax.value_and_grad(loss)(state.params)
    expected = jax.tree.map(lambda p, g: p - 0.1 * g, state.params, grads)
    after, logged = step(state, batch)
    assert largest_difference(dict(after.params), expected) < 1e-6
    assert float(logged["loss"]) == pytest.approx(float(value), rel=1e-5)
    assert measure(state, batch)["loss"] == pytest.approx(float(value), rel=1e-5)


def test_the_evaluation_is_of_all_rows_if_the_batches_are_whole():
    state, rows = fresh(), evaluation_rows()
    preds = state.apply_fn({"params": state.params}, rows["x"])
    found = evaluate(state, rows)
    assert found["loss"] == pytest.approx(float(mean_log_cosh(preds, rows["y"])), 1e-4)
    assert found["near"] == pytest.approx(float(near(preds, rows["y"])), abs=1e-6)


def test_the_tolerance_is_included():
    preds, targets = np.array([0.0, 0.25, 0.5, -0.25], np.float32), np.zeros(4)
    assert float(near(preds, targets)) == 0.75
    assert float(near(preds, targets, tol=0.5)) == 1.0


def test_a_stopped_script_is_the_script(tmp_path):
    """Also if it is stopped between two checkpoints: it goes back to the last."""
    whole = script(tmp_path / "whole", 70)
    for last in (60, 70):
        state = script(tmp_path / "stopped", last)
    assert int(state.step) == int(whole.step) == 71
    assert largest_difference(dict(state.params), dict(whole.params)) < 1e-6
    written = scalars(tmp_path / "whole" / "train")
    assert list(written["loss"]) == list(range(0, 71, 10))
    assert list(scalars(tmp_path / "whole" / "test")["near"]) == [0, 50]


def test_the_trainer_takes_changes(tmp_path):
    run = with_kauldron(tmp_path, 7, log_metrics_every=3)
    assert (run.num_train_steps, run.log_metrics_every) == (7, 3)
    assert run.workdir == tmp_path and list(run.evals) == ["test"]


def documented(x):  # a comment
    """A docstring.

    Of several lines.
    """
    # Another comment.

    text = """not a
    docstring"""
    return (
        x,
        text,  # counted
    )


def test_lines_of_code_are_what_one_would_count():
    # `def`, two lines of text, and four of `return`.
    assert code_lines(documented) == 1 + 2 + 4
    assert code_lines(documented, documented) == 2 * code_lines(documented)


def test_every_piece_is_counted_once():
    for side in (0, 1):
        objects = [one for piece in PIECES.values() for one in piece[side]]
        assert len(objects) == len(set(objects))
        assert code_lines(*objects) == sum(code_lines(one) for one in objects)


def test_the_picture_shows_both():
    picture = overlay({0: 1.0, 10: 0.5}, {0: 1.0, 10: 0.25})
    assert repr(picture) == "at step 10: script 0.5000, Kauldron 0.2500"
    lines = picture.figure.axes[0].lines
    points = {line.get_label(): list(line.get_ydata()) for line in lines}
    assert points == {"Kauldron": [1.0, 0.25], "the script": [1.0, 0.5]}
