"""What the chapter *resume* only shows: what a resumed run shares, and loses."""

import pathlib
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest
from kauldron import kd

from snippets import experiment
from snippets.resume import (
    curve,
    evaluation_data,
    largest_difference,
    refusal,
    run,
    saved_position,
    start_and_kill,
)


def quick(workdir, last, data, **changes):
    """The run of the page, with a checkpoint every ten steps and no evaluation."""
    return run(
        workdir,
        last,
        train_ds=data,
        evals={},
        checkpointer=kd.ckpts.Checkpointer(save_interval_steps=10),
        **changes,
    )


@pytest.mark.parametrize("stop", [10, 20])
def test_with_a_saved_position_a_resumed_run_is_the_run(stop, tmp_path):
    for last in (stop, 30):
        state = quick(tmp_path / "broken", last, saved_position()).train()[0]
    whole = quick(tmp_path / "whole", 30, saved_position()).train()[0]
    assert int(state.step) == int(whole.step) == 31
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(whole), strict=True):
        np.testing.assert_array_equal(one, other)


def test_from_memory_only_the_data_begins_anew(tmp_path):
    """The resumed run sees the first batches again, and differs in nothing else."""
    for last in (10, 20):
        state = quick(tmp_path / "broken", last, experiment.training_data()).train()[0]

    # By hand: ten steps, then the data from the beginning.
    by_hand = experiment.trainer()
    expected = by_hand.init_state()
    batches = iter(by_hand.train_ds)
    for step in range(21):
        if step == 10:
            batches = iter(by_hand.train_ds)
        expected = by_hand.trainstep.step(expected, next(batches))[0]
    for one, other in zip(
        jax.tree.leaves(state), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_a_run_killed_while_it_writes_a_checkpoint_resumes(tmp_path):
    """Checkpoints are written at every step; the kill comes while one is half there."""
    code = """
import sys, pathlib
from kauldron import kd
from snippets.resume import run
checkpoints = kd.ckpts.Checkpointer(save_interval_steps=1)
run(pathlib.Path(sys.argv[1]), 100_000, evals={}, checkpointer=checkpoints).train()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.DEVNULL
    )
    folder = tmp_path / "checkpoints"
    deadline = time.monotonic() + 120
    while True:
        assert process.poll() is None and time.monotonic() < deadline
        names = [path.name for path in folder.iterdir()] if folder.exists() else []
        whole = [name for name in names if "tmp" not in name]
        if len(whole) >= 2 and len(names) > len(whole):
            process.send_signal(signal.SIGKILL)
            break
    assert process.wait() == -signal.SIGKILL

    again = run(
        tmp_path, 0, evals={}, checkpointer=kd.ckpts.Checkpointer(save_interval_steps=1)
    )
    found = again.checkpointer.latest_step
    assert found is not None and found >= 1
    longer = again.replace(num_train_steps=found + 2)
    state = longer.train()[0]
    assert int(state.step) == found + 3
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state.params))


def test_a_killed_run_loses_what_came_after_its_checkpoint(tmp_path):
    assert start_and_kill(tmp_path / "killed") == -signal.SIGKILL
    assert list(run(tmp_path / "killed", 300).checkpointer.all_steps) == [0, 100]


def test_a_run_that_ends_by_itself_is_not_taken_for_a_killed_one(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError):
        start_and_kill(tmp_path / "ended")


@pytest.mark.parametrize("last", [0, 1, 7])
def test_the_loop_takes_one_step_more_than_its_number(last, tmp_path):
    state = quick(tmp_path, last, experiment.training_data()).train()[0]
    assert int(state.step) == last + 1


def test_an_evaluation_is_the_metric_over_all_rows(tmp_path):
    trainer = run(tmp_path, 0)
    state = trainer.init_state()
    found = trainer.evals["test"].evaluate(state, step=0).compute().metric_values
    rows = experiment.evaluation_rows()
    predictions = trainer.model.apply({"params": state.params}, rows["x"])["y"]
    expected = (abs(predictions - rows["y"]) <= 0.25).mean()
    assert found["metrics/near"] == pytest.approx(float(expected))
    assert len(list(evaluation_data())) == 4


def test_only_what_changes_shapes_is_refused(tmp_path):
    quick(tmp_path, 10, experiment.training_data()).train()
    other = quick(
        tmp_path, 12, experiment.training_data(), model=experiment.MLP(hidden=8)
    )
    assert "(…) is not compatible with the stored shape: (…)" in refusal(other)
    with pytest.raises(AssertionError, match="was restored"):
        refusal(quick(tmp_path, 12, experiment.training_data()))


def test_the_picture_marks_where_it_was_resumed():
    axes = curve({0: 1.0, 10: 0.5}, {10: 0.5, 20: 0.2}, {0: 1.0, 20: 0.1}).figure.axes[
        0
    ]
    whole, before, after, mark = axes.lines
    assert list(after.get_xdata()) == [10, 20] and list(mark.get_xdata()) == [10, 10]
    assert len(whole.get_xdata()) == len(before.get_xdata()) == 2


def test_the_largest_difference_is_of_all_leaves():
    one = {"a": np.zeros(2), "b": [np.ones(3)]}
    assert largest_difference(one, one) == 0
    assert (
        largest_difference(one, {"a": np.zeros(2), "b": [np.array([1, 1, 3.0])]}) == 2
    )


def test_workdirs_are_made_absolute():
    assert run(pathlib.Path("here"), 1).workdir.is_absolute()
