"""What the chapter *evals* only shows: evaluations are plain sums over their rows."""

import dataclasses
import os
import subprocess
import sys
import types

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given
from kauldron import kd, konfig

from snippets import evals as chapter
from snippets import experiment
from snippets.evals import (
    Doubling,
    Dropped,
    FewShot,
    Impatient,
    Importance,
    Patient,
    by_hand,
    curves,
    evaluated,
    few_shot,
    get_config,
    labelled,
    moments,
    noisy,
    only_evaluating,
    run,
    start_training,
    values,
)
from snippets.trainer import scalars


@given(step=st.integers(0, 10**6), n=st.integers(1, 1000))
def test_the_strategies_say_what_their_names_say(step, n):
    assert kd.evals.EveryNSteps(n).should_eval_in_train(step) == (step % n == 0)
    skipping = kd.evals.EveryNSteps(n, skip_first=True)
    assert skipping.should_eval_in_train(step) == (step % n == 0 and step > 0)
    assert kd.evals.Once(n).should_eval_in_train(step) == (step == n)
    power = step == 0 or 2 ** (step.bit_length() - 1) == step
    assert Doubling().should_eval_in_train(step) == power


def test_the_end_is_evaluated_however_long_the_run():
    cfg = get_config() | {"workdir": "anywhere"}
    for last in (200, 7):
        cfg.num_train_steps = last
        at_the_end = konfig.resolve(cfg).evals["at_the_end"].run
        assert at_the_end.should_eval_in_train(last)
        assert not at_the_end.should_eval_in_train(last + 1)


def test_the_average_is_that_of_the_parameters_so_far(tmp_path):
    """As `kd.optim.ema_params` says: the decay is smaller at first."""
    trainer = run(tmp_path, evals={})
    state, batches = trainer.init_state(), iter(trainer.train_ds)
    average = jax.tree.map(np.asarray, state.params)
    for count in range(1, 6):
        state, _ = trainer.trainstep.step(state, next(batches))
        decay = min(0.95, (1 + count) / (10 + count))
        average = jax.tree.map(
            lambda old, new, d=decay: d * old + (1 - d) * np.asarray(new),
            average,
            state.params,
        )
    rows = experiment.evaluation_rows()
    predicted = experiment.MLP().apply({"params": average}, rows["x"])["y"]
    expected = experiment.log_cosh(predicted - rows["y"]).mean()
    aux = by_hand(trainer, state, init_transform=kd.optim.UseEmaParams())
    found = aux.compute().loss_values["losses/log_cosh"]
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    plain = by_hand(trainer, state).compute().loss_values["losses/log_cosh"]
    assert abs(plain - expected) > 1e-3


def test_dropout_is_off_and_half_is_dropped_in_training(tmp_path):
    trainer = run(tmp_path, model=Dropped(layer=kd.nn.Dropout(0.5)))
    state = trainer.init_state()
    assert values(by_hand(trainer, state)) == values(
        by_hand(trainer, state, model=experiment.MLP())
    )
    x = experiment.evaluation_rows()["x"]
    hidden = jnp.maximum(
        x @ state.params["enc"]["kernel"] + state.params["enc"]["bias"], 0
    )
    outputs = trainer.model.apply(
        {"params": state.params},
        x,
        rngs={"dropout": jax.random.key(0)},
        capture_intermediates=True,
        is_training_property=True,
    )[1]["intermediates"]["layer"]["__call__"][0]
    kept = np.asarray(outputs[hidden > 0] != 0).mean()
    assert kept == pytest.approx(0.5, abs=0.05)


def test_each_batch_of_an_evaluation_has_its_own_noise(tmp_path):
    trainer = noisy(tmp_path)
    state, rows = trainer.init_state(), experiment.evaluation_rows()
    losses = []
    for number in range(4):
        part = {name: of[32 * number : 32 * (number + 1)] for name, of in rows.items()}
        rngs = trainer.rng_streams.eval_rngs(number)
        predicted = trainer.model.apply({"params": state.params}, part["x"], rngs=rngs)
        losses.append(experiment.log_cosh(predicted["y"] - part["y"]).mean())
    found = by_hand(trainer, state).compute().loss_values["losses/log_cosh"]
    np.testing.assert_allclose(found, np.mean(losses), rtol=1e-5)


def test_an_input_that_is_not_used_has_no_importance(tmp_path):
    trainer = run(tmp_path, evals={})
    state = trainer.init_state()
    params = jax.tree.map(np.array, state.params)
    params["enc"]["kernel"][3] = 0
    own = Importance(run=kd.evals.Once(0), loader=experiment.evaluation_rows)
    own.update_from_root_cfg(trainer).evaluate(state.replace(params=params), step=0)
    found = {tag: points[0] for tag, points in scalars(tmp_path / "eval").items()}
    assert found.pop("importance/3") == 0
    assert len(found) == 15 and all(value != 0 for value in found.values())


def test_the_features_are_those_of_the_model(tmp_path):
    trainer = run(tmp_path, evals={})
    state, data = trainer.init_state(), labelled(128, seed=3)
    mended = few_shot(FewShot).update_from_root_cfg(trainer)
    features, labels = mended.compute_features(state, data, "val")
    rows = experiment.rows(128, seed=3)
    np.testing.assert_array_equal(features["inputs"], rows["x"])
    np.testing.assert_array_equal(labels, rows["y"][:, 0] > 0)
    dense = state.params["enc"]
    expected = rows["x"] @ np.asarray(dense["kernel"]) + np.asarray(dense["bias"])
    np.testing.assert_allclose(features["inner"], expected, rtol=1e-4, atol=1e-5)


def test_the_few_shot_rows_are_three_sets_of_both_classes():
    evaluator = few_shot(FewShot)
    sets = [evaluator.ds_train, evaluator.ds_val, evaluator.ds_test]
    labels = [ds.examples["label"] for ds in sets]
    assert [len(of) for of in labels] == [256, 128, 512]
    assert all(0.3 < of.mean() < 0.7 for of in labels)
    firsts = {float(ds.examples["y"][0, 0]) for ds in sets}
    assert len(firsts) == 3


def patient(tmp_path, every=4):
    plain = experiment.training_data()
    fields = {f.name: getattr(plain, f.name) for f in dataclasses.fields(plain)}
    fields.pop("_fake_refs")
    return Patient(**fields, folder=tmp_path, every=every)


def test_patient_data_waits_for_each_checkpoint_and_is_otherwise_the_same(
    tmp_path, monkeypatch
):
    done, waited = [], []

    def sleep(seconds):
        waited.append(len(seen))
        done.append(4 * len(done))

    monkeypatch.setattr(chapter, "evaluated", lambda folder: done)
    monkeypatch.setattr(chapter.time, "sleep", sleep)
    seen = []
    for batch, expected in zip(
        iter(patient(tmp_path)), experiment.training_data(), strict=False
    ):
        np.testing.assert_array_equal(batch["x"], expected["x"])
        seen.append(batch)
        if len(seen) == 10:
            break
    assert waited == [1, 5, 9]


def test_patient_data_ends_with_the_process_that_started_it(tmp_path, monkeypatch):
    parents = iter([1, 2])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    assert len(list(patient(tmp_path).iter())) == 1


def test_nothing_is_evaluated_where_nothing_is(tmp_path):
    assert evaluated(tmp_path / "nowhere") == evaluated(tmp_path) == []


def test_impatience_changes_the_waiting_and_nothing_else(monkeypatch):
    asked = {}

    def look(self, **waits):
        asked.update(waits)
        return iter([100])

    monkeypatch.setattr(kd.ckpts.Checkpointer, "iter_new_checkpoints", look)
    checkpointer = Impatient(save_interval_steps=100, workdir="anywhere")
    over = object()
    steps = checkpointer.iter_new_checkpoints(min_interval_secs=10, timeout_fn=over)
    assert list(steps) == [100]
    assert asked == {"min_interval_secs": 0, "timeout": 2, "timeout_fn": over}


def test_a_training_that_fails_leaves_its_words(tmp_path, monkeypatch):
    monkeypatch.setattr(chapter, "sys", types.SimpleNamespace(executable="/bin/ls"))
    process = start_training(tmp_path / "run")
    assert process.wait() != 0
    assert (tmp_path / "run" / "stderr.txt").read_text()


def test_the_config_that_only_evaluates_asks_nothing_of_xmanager(tmp_path):
    only = konfig.resolve(only_evaluating(tmp_path / "trained", tmp_path / "after"))
    assert only.setup.eval_only and only.optimizer is None
    assert only.model == experiment.MLP(x="batch.x", hidden=32)
    assert only.init_transform.workdir == str(tmp_path / "trained")
    assert list(only.train_losses) == ["log_cosh"]


def test_the_curves_are_what_was_written(tmp_path):
    short = run(tmp_path, num_train_steps=20)
    short.train()
    upper, lower = curves(tmp_path).figure.axes
    names = [line.get_label() for line in (*upper.lines, *lower.lines)]
    assert names == ["held_out", "seen", "averaged", "held_out", "tight"]
    for line in upper.lines:
        written = scalars(tmp_path / line.get_label())["losses/log_cosh"]
        assert dict(zip(*line.get_data(), strict=True)) == written
    assert list(lower.lines[1].get_xdata()) == [0, 1, 2, 4, 8, 16]


def test_the_moments_are_a_row_each():
    axes = moments({"a": [0, 5], "b": [5]}, elsewhere=["b"]).figure.axes[0]
    first, second = axes.lines
    assert list(first.get_xdata()) == [0, 5] and set(first.get_ydata()) == {0}
    assert list(second.get_xdata()) == [5] and set(second.get_ydata()) == {1}
    assert first.get_color() != second.get_color()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_the_run_has_an_average_and_is_else_the_experiment(tmp_path):
    state = run(tmp_path).init_state()
    adam, average = state.opt_state
    assert isinstance(adam[0], optax.ScaleByAdamState)
    for one, other in zip(
        jax.tree.leaves(average.ema_params),
        jax.tree.leaves(experiment.trainer().init_state().params),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_own_evaluations_run_along_a_training(tmp_path):
    """The loop forbids copies to the device, which a call by hand would not notice."""
    once = kd.evals.Once(1)
    evaluators = {
        "importance": Importance(run=once, loader=experiment.evaluation_rows),
        "few_shot": dataclasses.replace(few_shot(FewShot), run=once),
    }
    run(tmp_path, evals=evaluators, num_train_steps=1).train()
    assert len(scalars(tmp_path / "importance")) == 16
    assert set(scalars(tmp_path / "few_shot")["metrics/sign-5shot"]) == {1}


@pytest.mark.proof
def test_the_command_line_evaluates_in_a_second_process(tmp_path):
    program = [sys.executable, "-m", "kauldron.main", f"--cfg={chapter.__file__}"]
    program += [f"--cfg.workdir={tmp_path}", "--cfg.num_train_steps=1"]
    subprocess.run(program, check=True, capture_output=True)
    assert evaluated(tmp_path / "at_the_end") == [1]
    assert evaluated(tmp_path / "last") == []
    names = "--eval_names=every,last"
    subprocess.run([*program, names], check=True, capture_output=True)
    assert evaluated(tmp_path / "every") == evaluated(tmp_path / "last") == [0]
