"""A model as a file that needs no code: what the chapter *export* shows."""

import contextlib
import dataclasses
import io
import pathlib
import subprocess
import sys

import flax.linen as nn
import jax
import numpy as np
from kauldron import kd, kontext
from matplotlib.figure import Figure

from snippets import experiment
from snippets.showing import BLUE, ORANGE, Picture


class Dropping(nn.Module):
    """The model of the experiment, with half of its hidden layer dropped in training.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
    """

    x: kontext.Key = "batch.x"

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        x = nn.relu(nn.Dense(32, name="enc")(x))
        x = kd.nn.Dropout(0.5)(x)
        return {"y": nn.Dense(1, name="out")(x)}


class Normed(nn.Module):
    """The model of the experiment, with its inputs through a batch norm.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
    """

    x: kontext.Key = "batch.x"
    is_training = kd.nn.train_property()

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        x = nn.BatchNorm(use_running_average=not self.is_training, momentum=0.9)(x)
        x = nn.relu(nn.Dense(32, name="enc")(x))
        return {"y": nn.Dense(1, name="out")(x)}


class Keyless(nn.Module):
    """A linear model that takes the whole batch."""

    @nn.compact
    def __call__(self, batch):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        return {"y": nn.Dense(1, name="out")(batch["x"])}


class Doubting(nn.Module):
    """A linear model that does something else with a batch that is large.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
    """

    x: kontext.Key = "batch.x"

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        if x.shape[0] > 8:
            x = x / 2
        return {"y": nn.Dense(1, name="out")(x)}


class Telling(kd.export.ModelExporter):
    """Writes nothing, and says when it was asked to."""

    def export(self, *, model, state, element_spec, is_training):
        """Print what the trainer asks for."""
        inputs = ", ".join(element_spec)
        print(f"asked at step {state.step}, training {is_training}, inputs {inputs}")


class Evaluating(kd.export.JaxModelExporter):
    """Exports the model as it is in an evaluation."""

    def export(self, *, model, state, element_spec, is_training):
        """Write the file, whatever mode the trainer asks for."""
        super().export(
            model=model, state=state, element_spec=element_spec, is_training=False
        )


def run(workdir: str, **changes) -> kd.train.Trainer:
    """Return a short run of the experiment, with a dropout.

    Args:
      workdir: a folder within the current one.
      changes: fields of `kd.train.Trainer` that should be different.
    """
    fields = {
        "model": Dropping(),
        "workdir": pathlib.Path(workdir).absolute(),
        "num_train_steps": 20,
        "checkpointer": kd.ckpts.Checkpointer(save_interval_steps=10),
    }
    return experiment.trainer(**fields | changes)


def told(steps: int) -> list[str]:
    """Return what an exporter says in a run that has the checkpoints of those before.

    Args:
      steps: the number of the last step; from 10 on, another run goes on behind it.
    """
    telling = run(
        "told", exporter=Telling(), num_train_steps=steps, train_metrics={}, writer=None
    )
    with contextlib.redirect_stdout(io.StringIO()) as said:
        telling.train()
    return [line for line in said.getvalue().splitlines() if line.startswith("asked")]


def asked(trainer: kd.train.Trainer, *, is_training: bool, **changes) -> None:
    """Have the exporter of a trainer write its file, as the training loop does.

    Args:
      trainer: it is not trained.
      is_training: in which mode the model is exported.
      changes: fields of the exporter that should be different.
    """
    exporter = dataclasses.replace(trainer.exporter, **changes)
    trainer.workdir.mkdir(parents=True, exist_ok=True)
    exporter.export(
        model=trainer.model,
        state=trainer.init_state(),
        element_spec=trainer.train_ds.element_spec,
        is_training=is_training,
    )


def loaded(workdir: pathlib.Path, name: str = "train_model") -> jax.export.Exported:
    """Return the function that an exporter has written."""
    return jax.export.deserialize((workdir / f"{name}.jax_exported").read_bytes())


def alone(workdir: pathlib.Path, params, rows: int) -> str:
    """Return what `snippets.export_alone` prints, in a process of its own.

    Args:
      workdir: where a model was exported.
      params: its parameters.
      rows: how many rows to predict.
    """
    flat = kontext.flatten_with_path(jax.device_get(params))
    np.savez(workdir / "params.npz", **flat)
    files = [workdir / "train_model.jax_exported", workdir / "params.npz"]
    command = [sys.executable, "-m", "snippets.export_alone", *files, rows]
    done = subprocess.run(map(str, command), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.rstrip()


def first_words(program: str) -> str:
    """Return what a program prints, in a process that has imported nothing yet.

    >>> first_words("print(1 + 1)")
    '2'
    """
    return subprocess.check_output([sys.executable, "-c", program], text=True).rstrip()


def by_hand(model, variables) -> bytes:
    """Return a model as it is in an evaluation, with all that it has learned.

    The function in it takes inputs `x`, float32 `(b, 16)` for any `b`, and returns what
    the model returns. Parameters and collections are constants of it.

    Args:
      model: a model of Kauldron, by Linen or nnx, that takes `x`.
      variables: its parameters, as `params`, and its collections.
    """
    variables = jax.device_get(variables)

    def predict(x):
        return model.apply(variables, x=x, is_training_property=False)

    shape = jax.export.symbolic_shape("b, 16")
    x = jax.ShapeDtypeStruct(shape, np.float32)
    return jax.export.export(jax.jit(predict))(x).serialize()


def spread(drawn: np.ndarray, evaluated: float) -> Picture:
    """Draw the predictions for one row under many keys, and the one of an evaluation.

    Args:
      drawn: the predictions in training mode, float `(keys,)`.
      evaluated: the prediction in evaluation mode.
    """
    figure = Figure(figsize=(7, 2.6))
    axes = figure.subplots()
    axes.hist(drawn, bins=25, color=BLUE, label="in training mode, by the key")
    axes.axvline(evaluated, color=ORANGE, linewidth=2, label="in an evaluation")
    axes.set_xlabel("prediction for one row")
    axes.set_ylabel("keys")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small")
    return Picture(
        figure,
        f"{len(drawn)} keys: {drawn.min():.1f} to {drawn.max():.1f}\n"
        f"evaluation: {evaluated:.1f}",
    )
