"""What the chapter *trainer* only shows: its step is plain Flax and optax."""

import functools
import json
import pathlib
import subprocess
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from kauldron import kontext

from snippets import trainer as chapter
from snippets.experiment import (
    MLP,
    evaluation_rows,
    log_cosh,
    rows,
    trainer,
    training_data,
)
from snippets.trainer import (
    INNER,
    compilations,
    curves,
    files,
    scalars,
    step_variants,
    watched,
)


def by_hand(run, steps):
    """Drive the training step; return losses and metrics of each step."""
    state, batches, history = run.init_state(), iter(run.train_ds), {}
    for step in range(steps):
        state, aux = run.trainstep.step(
            state, next(batches), return_losses=True, return_metrics=True
        )
        history[step] = aux
    return state, history


def test_the_step_is_plain_flax_and_optax():
    run = trainer()
    state, history = by_hand(run, 5)

    def loss(params, batch):
        predictions = MLP().apply({"params": params}, batch["x"])["y"]
        return log_cosh(predictions - batch["y"]).mean()

    params, optimizer = run.init_state().params, optax.adam(1e-2)
    opt_state, batches = optimizer.init(params), iter(run.train_ds)
    for step in range(5):
        value, gradient = jax.value_and_grad(loss)(params, next(batches))
        ours = history[step].compute().loss_values["losses/log_cosh"]
        np.testing.assert_allclose(ours, value, rtol=1e-5)
        updates, opt_state = optimizer.update(gradient, opt_state, params)
        params = optax.apply_updates(params, updates)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), params, state.params
    )


def test_the_inner_norm_is_that_of_the_inner_layer():
    run = watched()
    state, batch = run.init_state(), next(iter(run.train_ds))
    kernel, bias = state.params["enc"]["kernel"], state.params["enc"]["bias"]
    expected = jnp.linalg.norm(batch["x"] @ kernel + bias, axis=-1).mean()
    aux = run.trainstep.step(state, batch, return_losses=True, return_metrics=True)[1]
    np.testing.assert_allclose(
        aux.compute().metric_values["metrics/inner"], expected, rtol=1e-5
    )


def test_every_path_of_the_context_can_be_a_key():
    specs = watched().context_specs
    for path, leaf in kontext.flatten_with_path(specs).items():
        assert kontext.get_by_path(specs, path) is leaf
    assert kontext.get_by_path(specs, INNER).shape == (32, 32)


def test_the_figures_of_the_page(tmp_path):
    run = watched(workdir=tmp_path, num_train_steps=299, log_metrics_every=299)
    state = run.train()[0]
    assert int(state.step) == 300
    written = scalars(tmp_path / "train")
    shown = {
        t: [f"{v:.4f}" for v in written[t].values()]
        for t in ("losses/log_cosh", "metrics/near")
    }
    assert shown == {
        "losses/log_cosh": ["1.5107", "0.0049"],
        "metrics/near": ["0.1562", "1.0000"],
    }
    assert [f"{v:.2f}" for v in written["metrics/inner"].values()] == ["5.74", "6.00"]
    names = files(tmp_path)
    assert "train_complete.txt" in names
    assert not any(part.isdecimal() for name in names for part in name.split("."))


@pytest.mark.parametrize("seed", [0, 1])
def test_rows_are_a_noisy_linear_function_with_the_same_weights(seed):
    data = rows(4096, seed)
    weights, *_ = np.linalg.lstsq(data["x"], data["y"])
    expected = np.random.default_rng(7).normal(size=(16, 1))
    np.testing.assert_allclose(weights, expected, atol=0.01)
    residual = data["y"] - data["x"] @ weights
    assert residual.std() == pytest.approx(0.1, rel=0.05)


def test_training_and_evaluation_rows_differ():
    assert not np.isin(evaluation_rows()["y"], training_data().examples["y"]).any()


def test_compilations_are_counted_and_the_listener_goes_again():
    double = jax.jit(lambda x: 2 * x)
    argument = jnp.arange(3)
    assert compilations(lambda: double(argument)) == 1
    assert compilations(lambda: double(argument)) == 0


def test_what_is_measured_takes_steps():
    for name, call in step_variants().items():
        assert name
        call()


def test_the_picture_shows_the_history():
    history = {
        s: {"losses/log_cosh": 1 / (s + 1), "metrics/inner": s}
        for s in range(0, 50, 10)
    }
    upper, lower = curves(history).figure.axes
    assert upper.get_yscale() == "log"
    np.testing.assert_array_equal(upper.lines[0].get_xdata(), list(history))
    np.testing.assert_array_equal(lower.lines[0].get_ydata(), list(history))


def test_files_below_a_folder(tmp_path):
    (tmp_path / "a").mkdir()
    pathlib.Path(tmp_path / "a" / "events.out.tfevents.123.host.4.v2").touch()
    assert files(tmp_path) == ["a/events.out.tfevents.…"]


def test_the_measured_steps_ask_for_what_their_names_say(monkeypatch):
    asked, computed, names = {}, [], []

    def step(state, batch, **wanted):
        asked[names[-1]] = {what for what, value in wanted.items() if value}
        compute = functools.partial(computed.append, names[-1])
        return SimpleNamespace(step=0), SimpleNamespace(compute=compute)

    run = SimpleNamespace(
        init_state=lambda: None, train_ds=[{}], trainstep=SimpleNamespace(step=step)
    )
    monkeypatch.setattr(chapter, "watched", lambda: run)
    for name, take in chapter.step_variants().items():
        names.append(name)
        take()
    assert asked == {
        "a step": set(),
        "with losses": {"return_losses"},
        "with losses and metrics": {"return_losses", "return_metrics"},
        "with both, and computed": {"return_losses", "return_metrics"},
    }
    assert computed == ["with both, and computed"]


RECORDED = """
import json, os, time
import jax, psutil

def cost():
    memory, started = psutil.Process().memory_info().rss, time.perf_counter()
    for _ in range(1_000_000):
        (lambda: None)()
    return psutil.Process().memory_info().rss - memory, time.perf_counter() - started

usual = cost()
jax.profiler.start_trace("trace")
print(json.dumps([usual, cost()]), flush=True)
os._exit(0)  # and write no trace
"""


def test_a_profiler_that_is_on_costs_time_and_memory(tmp_path):
    """In a new process: an older one may have memory to spare."""
    command = [sys.executable, "-c", RECORDED]
    said = subprocess.run(
        command, cwd=tmp_path, check=True, capture_output=True, text=True
    )
    usual, recorded = json.loads(said.stdout)
    assert recorded[0] > usual[0] + 40e6
    assert recorded[1] > usual[1]
