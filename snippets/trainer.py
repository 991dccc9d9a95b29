"""What the chapter *trainer* shows beside the shared experiment."""

import pathlib
import re
import time
from collections.abc import Callable

import jax
import numpy as np
from kauldron import kd
from matplotlib.figure import Figure
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util

from snippets.experiment import WithinTolerance, trainer
from snippets.showing import BLUE, ORANGE, Picture

# The output of the inner layer, as the model's own call recorded it.
INNER = "interms.enc.__call__[0]"


def watched(**changes) -> kd.train.Trainer:
    """Return the experiment with one metric more: the norm of the inner layer.

    Args:
      changes: fields of `kd.train.Trainer` that should be different.
    """
    metrics = {
        "near": WithinTolerance(preds="preds.y", targets="batch.y"),
        "inner": kd.metrics.Norm(tensor=INNER),
    }
    return trainer(**{"train_metrics": metrics} | changes)


def curves(history: dict[int, dict[str, np.ndarray]]) -> Picture:
    """Draw the loss, on a log scale, and the norm of the inner layer over the steps.

    Args:
      history: losses and metrics by step.
    """
    figure = Figure(figsize=(7, 4.4))
    upper, lower = figure.subplots(2, sharex=True)
    for axes, name, label, colour in (
        (upper, "losses/log_cosh", "loss (log scale)", BLUE),
        (lower, "metrics/inner", "norm of the inner layer", ORANGE),
    ):
        values = [values[name] for values in history.values()]
        axes.plot(list(history), values, color=colour, linewidth=1.5)
        axes.set_ylabel(label)
        axes.spines[["top", "right"]].set_visible(False)
    upper.set_yscale("log")
    lower.set_xlabel("step")
    first, last = history[min(history)], history[max(history)]
    return Picture(
        figure,
        "\n".join(f"{name}: {first[name]:.4g} → {last[name]:.4g}" for name in first),
    )


def files(workdir: pathlib.Path) -> list[str]:
    """Return the files below a folder, without the time and the host in a name.

    TensorBoard's files carry both, which would differ on every page built.

    >>> "imports.json" in files(pathlib.Path(__file__).parent / "recorded")
    True
    """
    found = (str(p.relative_to(workdir)) for p in workdir.rglob("*") if p.is_file())
    return sorted(re.sub(r"tfevents\..*", "tfevents.…", name) for name in found)


def scalars(folder: pathlib.Path) -> dict[str, dict[int, float]]:
    """Return what a run has written for TensorBoard, as ``{tag: {step: value}}``.

    Args:
      folder: the folder of one collection, such as ``workdir / "train"``.
    """
    events = event_accumulator.EventAccumulator(
        str(folder),
        size_guidance={event_accumulator.TENSORS: 0},
        purge_orphaned_data=False,
    ).Reload()
    found = {}
    for tag in events.Tags()["tensors"]:
        points = {}
        for event in events.Tensors(tag):
            value = tensor_util.make_ndarray(event.tensor_proto)
            if value.shape == () and value.dtype.kind == "f":
                points[event.step] = float(value)
        if points:
            found[tag] = points
    return found


def compilations(call: Callable[[], object]) -> int:
    """Return how many programs JAX compiles during a call.

    >>> compilations(lambda: jax.jit(lambda x: x + 1)(1.0)) > 0
    True
    >>> compilations(lambda: None)
    0
    """
    compiled = []

    def listen(event: str, duration: float, **details: object) -> None:
        if event.endswith("backend_compile_duration"):
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        call()
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    return len(compiled)


def step_variants() -> dict[str, Callable[[], None]]:
    """Return calls that take one training step, to be measured by `make bench`.

    Each waits for the device. ``and computed`` also turns the states into numbers,
    as a loop does that prints every step.
    """
    run = watched()
    state, batch = run.init_state(), next(iter(run.train_ds))
    holder = {"state": state}

    def take(compute: bool, **wanted: bool) -> None:
        holder["state"], aux = run.trainstep.step(holder["state"], batch, **wanted)
        jax.block_until_ready(holder["state"].step)
        if compute:
            aux.compute()

    everything = {"return_losses": True, "return_metrics": True}
    return {
        "a step": lambda: take(False),
        "with losses": lambda: take(False, return_losses=True),
        "with losses and metrics": lambda: take(False, **everything),
        "with both, and computed": lambda: take(True, **everything),
    }


def median_seconds(call: Callable[[], None], repeats: int = 300) -> float:
    """Return the median time of a call, in seconds, after twenty uncounted ones."""
    for _ in range(20):
        call()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return float(np.median(times))
