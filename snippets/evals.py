"""When evaluations run, on what, and in which process: the chapter *evals*."""

import dataclasses
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from kauldron import kd, konfig, kontext
from kauldron.ktyping import typechecked
from matplotlib.figure import Figure

from snippets import experiment, sweep
from snippets.resume import evaluation_data
from snippets.showing import BLUE, GREEN, GREY, ORANGE, Picture
from snippets.trainer import INNER, scalars


@dataclasses.dataclass(frozen=True)
class Doubling(kd.evals.RunStrategy):
    """Run at step 0 and at the powers of two: often at first, then ever more rarely.

    >>> [step for step in range(9) if Doubling().should_eval_in_train(step)]
    [0, 1, 2, 4, 8]
    """

    def should_eval_in_train(self, step: int) -> bool:
        """Return whether to evaluate before this step is taken."""
        return step & (step - 1) == 0


def evaluators() -> dict[str, kd.evals.EvaluatorBase]:
    """Return four evaluators of one run, by the names of their folders."""
    often, tight = kd.evals.EveryNSteps(20), {"preds": "preds.y", "targets": "batch.y"}
    return {
        "held_out": kd.evals.Evaluator(run=often),
        "seen": kd.evals.Evaluator(
            run=often, ds=experiment.training_data(num_epochs=1)
        ),
        "tight": kd.evals.Evaluator(
            run=Doubling(),
            losses={},
            metrics={"near": experiment.WithinTolerance(**tight, tol=0.1)},
        ),
        "averaged": kd.evals.Evaluator(
            run=often, init_transform=kd.optim.UseEmaParams()
        ),
    }


def run(workdir: pathlib.Path, **changes) -> kd.train.Trainer:
    """Return the experiment with these evaluators, and an average of its parameters.

    Args:
      workdir: where TensorBoard's files go.
      changes: fields of `kd.train.Trainer` that should be different.
    """
    fields = {
        "workdir": workdir.absolute(),
        "num_train_steps": 200,
        "log_metrics_every": 20,
        "optimizer": optax.chain(optax.adam(1e-2), kd.optim.ema_params(decay=0.95)),
        "eval_ds": evaluation_data(),
        "evals": evaluators(),
    }
    return experiment.trainer(**fields | changes)


def by_hand(
    trainer: kd.train.Trainer, state: kd.train.TrainState, **fields
) -> kd.train.AuxiliariesState:
    """Evaluate a state once, by an evaluator that is in no trainer's dict.

    Args:
      trainer: whose fields the evaluator inherits; it needs a working directory.
      state: what to evaluate; it is not used up.
      fields: of `kd.evals.Evaluator`.

    Returns:
      The merged states of losses and metrics.
    """
    alone = kd.evals.Evaluator(run=kd.evals.Once(0), **fields)
    filled = alone.update_from_root_cfg(trainer)
    return filled.evaluate(state, step=int(state.step))


def values(aux: kd.train.AuxiliariesState) -> dict[str, float]:
    """Return losses, not their total, and metrics, to four decimals, by their tags."""
    found = aux.compute()
    both = found.loss_values | found.metric_values
    both.pop("losses/total", None)
    return {tag: round(float(value), 4) for tag, value in both.items()}


class Dropped(nn.Module):
    """The model of the experiment, with half of its hidden layer dropped in training.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
      layer: what drops; by default Kauldron's.
    """

    x: kontext.Key = "batch.x"
    layer: nn.Module | None = None
    is_training = kd.nn.train_property()

    @nn.compact
    def __call__(self, x):
        """Return the predictions `(batch, 1)`, and the mode, 0 or 1, as `(1,)`."""
        hidden = nn.relu(nn.Dense(32, name="enc")(x))
        hidden = (self.layer or kd.nn.Dropout(0.5))(hidden)
        mode = jnp.full((1,), float(self.is_training))
        return {"y": nn.Dense(1, name="out")(hidden), "training": mode}


class Noisy(nn.Module):
    """A linear model of noisy inputs, noisy in evaluations too.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
    """

    x: kontext.Key = "batch.x"

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        x = x + 0.5 * jax.random.normal(self.make_rng("noise"), x.shape)
        return {"y": nn.Dense(1, name="out")(x)}


def noisy(workdir: pathlib.Path, **changes) -> kd.train.Trainer:
    """Return the experiment with the noisy model, and random numbers for it."""
    noise = kd.train.RngStream("noise", eval=True)
    streams = kd.train.RngStreams([noise])
    return run(workdir, model=Noisy(), rng_streams=streams, **changes)


class Importance(kd.evals.EvaluatorBase):
    """How much worse predictions become if one input is shuffled among the rows.

    Attributes:
      loader: returns all rows, `x` float `(rows, inputs)` and `y` float `(rows, 1)`.
    """

    loader: Callable[[], dict[str, np.ndarray]]

    def evaluate(self, state: kd.train.TrainState, step: int) -> None:
        """Write a number for each input; the loop wants nothing back."""
        rows, rng, model = self.loader(), np.random.default_rng(0), self.base_cfg.model

        def error(x: np.ndarray) -> float:
            params = {"params": state.params}
            predicted = model.apply(params, x, is_training_property=False)["y"]
            return float(abs(predicted - rows["y"]).mean())

        found = {}
        with jax.transfer_guard("allow"):  # the loop forbids copies to the device
            whole = error(rows["x"])
            for index in range(rows["x"].shape[1]):
                x = rows["x"].copy()
                rng.shuffle(x[:, index])
                found[f"importance/{index}"] = error(x) - whole
        self.writer.write_scalars(step=step, scalars=found)
        self.writer.flush()


class FewShot(kd.evals.FewShotEvaluator):
    """The few-shot evaluator with what it lacks in this release."""

    evaluate = typechecked(kd.evals.FewShotEvaluator.evaluate)

    def compute_features(
        self, state: kd.train.TrainState, ds: kd.data.Pipeline, split: str
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return all rows' features by name, float `(rows, …)`, and their labels."""
        trainer, keys = self.base_cfg, {**self.repr_names, "labels": self.label_name}
        found = {name: [] for name in keys}
        for number, batch in enumerate(ds.device_put(trainer.sharding.batch)):
            context = kd.train.Context.from_state_and_batch(state=state, batch=batch)
            context = kd.train.forward(
                context,
                model=trainer.model,
                rngs=trainer.rng_streams.eval_rngs(number),
                is_training=False,
            )
            for name, key in keys.items():
                found[name].append(np.asarray(kontext.get_by_path(context, key)))
        features = {name: np.concatenate(parts) for name, parts in found.items()}
        return features, features.pop("labels")


def labelled(count: int, seed: int) -> kd.data.Pipeline:
    """Return new rows, once, with a `label`: 1 where the target is positive, else 0."""

    def loader() -> dict[str, np.ndarray]:
        rows = experiment.rows(count, seed)
        return rows | {"label": (rows["y"][:, 0] > 0).astype(np.int32)}

    return kd.data.InMemoryPipeline(loader=loader, batch_size=64, num_epochs=1)


def few_shot(kind: type[kd.evals.FewShotEvaluator]) -> kd.evals.FewShotEvaluator:
    """Return an evaluator that learns the sign of the target from a few rows."""
    return kind(
        run=kd.evals.EveryNSteps(100),
        name="few_shot",
        ds_train=labelled(256, seed=2),
        ds_val=labelled(128, seed=3),
        ds_test=labelled(512, seed=4),
        metric_prefix="sign",
        num_classes=2,
        num_shots=(5, 20),
        repr_names={"inner": INNER, "inputs": "batch.x"},
        label_name="batch.label",
        selected_repr="inner",
    )


def get_config() -> konfig.ConfigDict:
    """Return the experiment as a config, evaluated along its training and elsewhere."""
    with konfig.imports():
        from kauldron import kd

        from snippets import evals, experiment

    cfg = sweep.get_config()
    cfg.num_train_steps = 200
    cfg.eval_ds = kd.data.InMemoryPipeline(
        loader=experiment.evaluation_rows, batch_size=32, num_epochs=1
    )
    cfg.checkpointer = kd.ckpts.Checkpointer(save_interval_steps=100)
    strategies = {
        "often": kd.evals.EveryNSteps(30),
        "not_at_first": kd.evals.EveryNSteps(30, skip_first=True),
        "at_the_end": kd.evals.Once(cfg.ref.num_train_steps),
        "doubling": evals.Doubling(),
        "every": kd.evals.StandaloneEveryCheckpoint(),
        "last": kd.evals.StandaloneLastCheckpoint(),
    }
    cfg.evals = {
        name: kd.evals.Evaluator(run=strategy) for name, strategy in strategies.items()
    }
    return cfg


def only_evaluating(trained: pathlib.Path, workdir: pathlib.Path) -> konfig.ConfigDict:
    """Return a config that evaluates the last checkpoint of `trained`, and no more.

    Args:
      trained: the folder of a run of `get_config`.
      workdir: where TensorBoard's files go.
    """
    with konfig.imports():
        from kauldron import kd

    only, cfg = kd.train.Trainer.eval_only(), get_config()
    # What it would ask XManager for.
    only.train_ds, only.model = cfg.train_ds, cfg.model
    only.init_transform = kd.ckpts.SimpleCheckpointLoader(workdir=str(trained))
    # What to evaluate, and how.
    only.eval_ds, only.train_losses = cfg.eval_ds, cfg.train_losses
    only.train_metrics = cfg.train_metrics
    last = kd.evals.StandaloneLastCheckpoint()
    only.evals = {"afterwards": kd.evals.Evaluator(run=last)}
    only.workdir, only.profiler = str(workdir), None
    return only


def evaluated(folder: pathlib.Path) -> list[int]:
    """Return the steps at which an evaluator has written its losses so far.

    Args:
      folder: the evaluator's, such as ``workdir / "test"``; it may not exist yet.

    >>> evaluated(pathlib.Path("nowhere"))
    []
    """
    if not folder.exists():
        return []
    return sorted(scalars(folder).get("losses/total", {}))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Patient(kd.data.InMemoryPipeline):
    """Training data that waits, behind each checkpoint, until it has been evaluated.

    Attributes:
      folder: where the evaluator of the checkpoints writes.
      every: the number of steps between two checkpoints.
    """

    folder: pathlib.Path
    every: int

    def iter(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the batches, for as long as the process is there that started this."""
        parent = os.getppid()
        for step, batch in enumerate(super().iter()):
            while step % self.every == 1 and step - 1 not in evaluated(self.folder):
                if os.getppid() != parent:
                    return
                time.sleep(0.1)
            yield batch


def train_patiently(workdir: str) -> None:
    """Train the config of this module; this is what the other process runs."""
    cfg = get_config()
    cfg.workdir = workdir
    trainer = konfig.resolve(cfg)
    data = Patient(
        loader=experiment.training_rows,
        batch_size=32,
        shuffle=True,
        seed=0,
        folder=pathlib.Path(workdir) / "every",
        every=100,
    )
    trainer.replace(train_ds=data).train()


def start_training(workdir: pathlib.Path) -> subprocess.Popen:
    """Start a process that trains, and return without waiting for it.

    What it says on standard error is in `stderr.txt` in the folder.
    """
    workdir.mkdir(parents=True)
    code = "import sys; from snippets.evals import train_patiently as go"
    program = [sys.executable, "-c", f"{code}; go(sys.argv[1])", str(workdir)]
    with open(workdir / "stderr.txt", "w") as said:
        return subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=said)


class Impatient(kd.ckpts.Checkpointer):
    """A checkpointer that looks for new checkpoints every second, not every ten."""

    def iter_new_checkpoints(self, **waits) -> Iterator[int]:
        """Yield the number of each new checkpoint, until the training is over."""
        waits |= {"min_interval_secs": 0, "timeout": 2}
        return super().iter_new_checkpoints(**waits)


def curves(workdir: pathlib.Path) -> Picture:
    """Draw what the evaluators of `evaluators` have written in a run.

    Args:
      workdir: the run's folder.
    """
    figure = Figure(figsize=(7, 5))
    upper, lower = figure.subplots(2, sharex=True)
    lines = []
    for axes, folder, tag, colour in (
        (upper, "held_out", "losses/log_cosh", BLUE),
        (upper, "seen", "losses/log_cosh", ORANGE),
        (upper, "averaged", "losses/log_cosh", GREEN),
        (lower, "held_out", "metrics/near", BLUE),
        (lower, "tight", "metrics/near", GREY),
    ):
        points = scalars(workdir / folder)[tag]
        axes.plot(list(points), list(points.values()), "o-", color=colour, markersize=3)
        axes.lines[-1].set_label(folder)
        lines.append(f"{folder} {tag}: {points[0]:.4f} → {points[max(points)]:.4f}")
    upper.set_yscale("log")
    upper.set_ylabel("loss (log scale)")
    lower.set_ylabel("share near the target")
    lower.set_xlabel("step")
    for axes in (upper, lower):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    return Picture(figure, "\n".join(lines))


def moments(ran: dict[str, list[int]], elsewhere: Collection[str]) -> Picture:
    """Draw the steps at which each evaluator ran.

    Args:
      ran: steps by the name of the evaluator.
      elsewhere: the names of those that ran in another process than the training.
    """
    figure = Figure(figsize=(7, 2.8))
    axes = figure.subplots()
    for row, (name, steps) in enumerate(ran.items()):
        look = {"color": BLUE, "marker": "o"}
        if name in elsewhere:
            look = {"color": ORANGE, "marker": "s"}
        axes.plot(steps, [row] * len(steps), linestyle="", label=name, **look)
    axes.set_yticks(range(len(ran)), list(ran))
    axes.invert_yaxis()
    axes.set_xlabel("step")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", alpha=0.3)
    return Picture(figure, "\n".join(f"{name}: {steps}" for name, steps in ran.items()))
