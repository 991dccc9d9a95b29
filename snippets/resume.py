"""Evaluation, checkpoints and picking up a run: what the chapter *resume* shows."""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import jax
import numpy as np
from kauldron import kd
from matplotlib.figure import Figure

from snippets import experiment
from snippets.showing import BLUE, GREY, ORANGE, Picture

# The step at which a run waits to be killed, between two checkpoints.
STALL_AT = 150


def evaluation_data() -> kd.data.Pipeline:
    """Return the evaluation rows, once, in batches of 32."""
    return kd.data.InMemoryPipeline(
        loader=experiment.evaluation_rows, batch_size=32, num_epochs=1, shuffle=False
    )


def run(workdir: pathlib.Path, num_train_steps: int, **changes) -> kd.train.Trainer:
    """Return the experiment with an evaluation and a checkpoint every 100 steps.

    Args:
      workdir: where checkpoints go; made absolute, as Orbax wants it.
      num_train_steps: the last step.
      changes: fields of `kd.train.Trainer` that should be different.
    """
    fields = {
        "workdir": workdir.absolute(),
        "num_train_steps": num_train_steps,
        "log_metrics_every": 10,
        "eval_ds": evaluation_data(),
        "evals": {"test": kd.evals.Evaluator(run=kd.evals.EveryNSteps(100))},
        "checkpointer": kd.ckpts.Checkpointer(save_interval_steps=100),
    }
    return experiment.trainer(**fields | changes)


class Rows:
    """The training rows as a source of single examples, which PyGrain batches."""

    def __init__(self):
        self.rows = experiment.training_rows()

    def __len__(self) -> int:
        return len(self.rows["x"])

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        return {name: array[index] for name, array in self.rows.items()}


def saved_position() -> kd.data.Pipeline:
    """Return the training data as a pipeline whose position is part of a checkpoint.

    `num_workers=0`, because PyGrain's worker processes need flags that only a program
    of absl's parses (google/grain #1361).
    """
    return kd.data.py.DataSource(
        data_source=Rows(),
        shuffle=True,
        batch_size=32,
        num_epochs=None,
        num_workers=0,
        seed=0,
    )


def largest_difference(one, other) -> float:
    """Return the largest absolute difference between two trees of arrays.

    >>> largest_difference({"a": np.zeros(2)}, {"a": np.array([0.0, 0.5])})
    0.5
    """
    differences = jax.tree.map(lambda a, b: float(np.abs(a - b).max()), one, other)
    return max(jax.tree.leaves(differences))


def refusal(trainer: kd.train.Trainer) -> str:
    """Train, and return the error, with an ellipsis for each shape that it names.

    Arrays are restored concurrently, so the first to be refused is not always the same.

    Raises:
      AssertionError: if nothing is refused.
    """
    try:
        trainer.train()
    except ValueError as error:
        return f"ValueError: {re.sub(r'[(][0-9, ]+[)]', '(…)', str(error))}"
    raise AssertionError("the checkpoint was restored")


def curve(
    before: dict[int, float], after: dict[int, float], whole: dict[int, float]
) -> Picture:
    """Draw the loss of a run, of its continuation, and of one without a break.

    Args:
      before: loss by step of the first run.
      after: of the run that resumed it.
      whole: of a run that was never stopped.
    """
    figure = Figure(figsize=(7, 3.6))
    axes = figure.subplots()
    axes.plot(
        list(whole),
        list(whole.values()),
        color=GREY,
        label="never stopped",
        linewidth=4,
        alpha=0.5,
    )
    axes.plot(list(before), list(before.values()), color=BLUE, label="first run")
    axes.plot(list(after), list(after.values()), color=ORANGE, label="resumed")
    axes.axvline(min(after), color="black", linestyle=":", linewidth=1)
    axes.annotate(
        "resumed here",
        (min(after), max(whole.values())),
        xytext=(6, -8),
        textcoords="offset points",
    )
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("loss (log scale)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center right")
    lines = [
        f"{name}: steps {min(c)} to {max(c)}, last {c[max(c)]:.4f}"
        for name, c in (
            ("first run", before),
            ("resumed", after),
            ("never stopped", whole),
        )
    ]
    return Picture(figure, "\n".join(lines))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stalling(kd.data.InMemoryPipeline):
    """The training data, which stops coming at a batch: a run waits there to be killed.

    Attributes:
      stall_at: the number of the batch that never comes.
      sign: a file that appears when the run has stalled.
    """

    stall_at: int
    sign: pathlib.Path

    def iter(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the batches, and then wait for as long as someone may come to kill."""
        parent = os.getppid()
        for number, batch in enumerate(super().iter()):
            if number == self.stall_at:
                self.sign.touch()
                while os.getppid() == parent:
                    time.sleep(0.5)
                return
            yield batch


def stalling_run(workdir: str) -> None:
    """Train until `STALL_AT` and wait there; this is what the killed process runs."""
    folder = pathlib.Path(workdir)
    data = Stalling(
        loader=experiment.training_rows,
        batch_size=32,
        shuffle=True,
        seed=0,
        stall_at=STALL_AT,
        sign=folder / "stalled",
    )
    run(folder, 300, train_ds=data).train()


def start_and_kill(workdir: pathlib.Path) -> int:
    """Train in a process of its own, kill it at `STALL_AT`, and return its exit code.

    Orbax writes in the background: a fast run has stalled before its last checkpoint is
    complete, so this waits for both.

    Raises:
      RuntimeError: if the process ends by itself.
    """
    workdir.mkdir(parents=True)
    code = "import sys; from snippets.resume import stalling_run as go; go(sys.argv[1])"
    program = [sys.executable, "-c", code, str(workdir.absolute())]
    process = subprocess.Popen(program, stderr=subprocess.PIPE)
    complete = workdir / "checkpoints" / f"ckpt_{STALL_AT // 100 * 100}"
    while not ((workdir / "stalled").exists() and complete.exists()):
        if process.poll() is not None:
            raise RuntimeError(process.stderr.read().decode())
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    return process.returncode
