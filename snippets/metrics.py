"""Metrics in depth: what the chapter *metrics* shows."""

import dataclasses
import pathlib

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from kauldron import kd, kontext
from kauldron.ktyping import Float, Int, typechecked
from matplotlib.figure import Figure
from tensorboard.backend.event_processing import event_accumulator

from snippets import experiment, resume
from snippets.showing import Picture


@dataclasses.dataclass(frozen=True, kw_only=True)
class TopOne(kd.metrics.Metric):
    """The share of rows whose largest logit is that of the label.

    Attributes:
      logits: key of a float array `(..., classes)`.
      labels: key of an int array of the same axes but the last.
    """

    logits: kontext.Key = kontext.REQUIRED
    labels: kontext.Key = kontext.REQUIRED

    @flax.struct.dataclass
    class State(kd.metrics.AverageState):
        """A sum and a count, which is all that a mean needs."""

    @typechecked
    def get_state(self, logits: Float["*b n"], labels: Int["*b"]) -> State:
        """Return the state of one batch."""
        return self.State.from_values(values=logits.argmax(axis=-1) == labels)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recall(kd.metrics.Metric):
    """The share of each class that was recognised.

    Attributes:
      logits: key of a float array `(n, classes)`.
      labels: key of an int array `(n, 1)`.
      names: a name for each class.
    """

    logits: kontext.Key = kontext.REQUIRED
    labels: kontext.Key = kontext.REQUIRED
    names: tuple[str, ...]

    @flax.struct.dataclass
    class State(kd.metrics.AutoState):
        """How many rows of each class (first axis) were taken for which (second)."""

        table: Float["c c"] = kd.metrics.sum_field()

        def compute(self) -> dict[str, float]:
            """Return the share, from 0 to 1, by the name of the class."""
            right, all_ = np.diagonal(self.table), self.table.sum(axis=1)
            shares = right / np.maximum(all_, 1)
            return dict(zip(self.parent.names, map(float, shares), strict=True))

    @typechecked
    def get_state(self, logits: Float["n c"], labels: Int["n 1"]) -> State:
        """Return the counts of one batch."""
        count = len(self.names)
        true = jax.nn.one_hot(labels[:, 0], count)
        said = jax.nn.one_hot(logits.argmax(axis=-1), count)
        return self.State(table=true.T @ said)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Residuals(kd.metrics.Metric):
    """Mean and spread of the errors, by states that exist already.

    Attributes:
      preds: key of a float array `(n, d)`.
      targets: key of an array of the same shape.
      unit: what the errors are measured in.
    """

    preds: kontext.Key = kontext.REQUIRED
    targets: kontext.Key = kontext.REQUIRED
    unit: str = "m"

    @flax.struct.dataclass
    class State(kd.metrics.AutoState):
        """Two states as fields, and a unit that has to be the same in all."""

        mean: kd.metrics.AverageState = kd.metrics.state_field()
        spread: kd.metrics.Std.State = kd.metrics.state_field()
        unit: str = kd.metrics.static_field(default="m")

        def compute(self) -> dict[str, float]:
            """Return both as a dict, which TensorBoard takes."""
            states = {"mean": self.mean, "spread": self.spread}
            return {name: float(state.compute()) for name, state in states.items()}

    @typechecked
    def get_state(self, preds: Float["n d"], targets: Float["n d"]) -> State:
        """Return the states of one batch's errors."""
        error = preds - targets
        return self.State(
            mean=kd.metrics.AverageState.from_values(values=error),
            spread=kd.metrics.Std.State.from_values(values=error),
            unit=self.unit,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spread(kd.metrics.Metric):
    """The standard deviation, also of values that lie far from zero.

    Attributes:
      values: key of any float tensor.
    """

    values: kontext.Key = kontext.REQUIRED

    @flax.struct.dataclass
    class State(kd.metrics.State):
        """Count, mean, and sum of squares around that mean, float32 `()` each."""

        count: jax.Array
        mean: jax.Array
        squares: jax.Array

        @classmethod
        def empty(cls) -> "Spread.State":
            """Return the state of no values."""
            zero = jnp.zeros((), jnp.float32)
            return cls(count=zero, mean=zero, squares=zero)

        def merge(self, other: "Spread.State") -> "Spread.State":
            """Return the state of both, after Chan, Golub and LeVeque (1979)."""
            count = self.count + other.count
            between = other.mean - self.mean
            share = other.count / jnp.maximum(count, 1)
            return type(self)(
                count=count,
                mean=self.mean + between * share,
                squares=self.squares + other.squares + between**2 * self.count * share,
            )

        def compute(self) -> Float[""]:
            """Return the standard deviation, an array of no axes."""
            return jnp.sqrt(self.squares / jnp.maximum(self.count, 1))

    @typechecked
    def get_state(self, values: Float["*any"]) -> State:
        """Return the state of one batch."""
        mean = values.mean()
        return self.State(
            count=jnp.float32(values.size),
            mean=mean,
            squares=jnp.square(values - mean).sum(),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Collected(kd.metrics.Metric):
    """Keeps every prediction and target, and their median distance.

    Attributes:
      preds: key of a float array `(n, d)`.
      targets: key of an array of the same shape.
    """

    preds: kontext.Key = kontext.REQUIRED
    targets: kontext.Key = kontext.REQUIRED

    @flax.struct.dataclass
    class State(kd.metrics.AutoState):
        """All rows so far, in the order in which they came."""

        preds: Float["n d"] = kd.metrics.concat_field()
        targets: Float["n d"] = kd.metrics.concat_field()

        def compute(self) -> float:
            """Return the median absolute error, which no sum can give."""
            return float(np.median(np.abs(self.preds - self.targets)))

    @typechecked
    def get_state(self, preds: Float["n d"], targets: Float["n d"]) -> State:
        """Return one batch as it is."""
        return self.State(preds=preds, targets=targets)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FirstRows(kd.metrics.Metric):
    """Keeps the first rows of a tensor, and reports nothing.

    Attributes:
      tensor: key of a float array `(n, d)`.
      keep: how many rows.
    """

    tensor: kontext.Key = kontext.REQUIRED
    keep: int = 8

    @flax.struct.dataclass
    class State(kd.metrics.AutoState):
        """The first rows that came."""

        rows: Float["n d"] = kd.metrics.truncate_field(num_field="parent.keep")

        def compute(self) -> dict[str, float]:
            """Return nothing to report; the rows are in the state."""
            return {}

    @typechecked
    def get_state(self, tensor: Float["n d"]) -> State:
        """Return one batch."""
        return self.State(rows=tensor)


class Deep(nn.Module):
    """Five hidden layers `layer0` to `layer4`, and an output layer `out`.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
      squash: use a sigmoid after each layer; otherwise ReLU.
    """

    x: kontext.Key = "batch.x"
    squash: bool = True

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        for number in range(5):
            x = nn.Dense(32, name=f"layer{number}")(x)
            x = nn.sigmoid(x) if self.squash else nn.relu(x)
        return {"y": nn.Dense(1, name="out")(x)}


def layer_norms(**changes) -> dict[str, kd.metrics.Metric]:
    """Return metrics for the norm of each kernel's gradient, and of all together.

    Args:
      changes: fields of the inner `kd.metrics.Norm` that should be different.
    """
    norm = kd.metrics.Norm(
        **{
            "tensor": "grads.**.kernel",
            "axis": None,
            "aggregation_type": "concat",
        }
        | changes
    )
    return {
        "each": kd.metrics.TreeMap(metric=norm),
        "all": kd.metrics.TreeReduce(metric=norm),
    }


def gradient_history(
    model: nn.Module, steps: int = 300, every: int = 20
) -> dict[str, dict[int, float]]:
    """Train a model in the experiment; return what `layer_norms` measured.

    Args:
      model: takes and returns what `experiment.MLP` does.
      steps: how many to take.
      every: the metrics are computed at each step that this divides.

    Returns:
      by the name of a layer, or ``all``, the norm by step.
    """
    run = experiment.trainer(model=model, train_metrics=layer_norms())
    state, history = run.init_state(), {}
    for step, batch in zip(range(steps), run.train_ds, strict=False):
        # Always asked for, so that only one step is compiled.
        state, aux = run.trainstep.step(
            state, batch, return_losses=True, return_metrics=True
        )
        if step % every == 0:
            for name, value in aux.compute().metric_values.items():
                parts = name.split("/")
                layer = parts[-1] if parts[1] == "all" else parts[-2]
                history.setdefault(layer, {})[step] = float(value)
    return history


def norms(histories: dict[str, dict[str, dict[int, float]]]) -> Picture:
    """Draw the gradient norm of each layer over the steps, a panel for each model.

    Args:
      histories: what `gradient_history` returns, by the title of its panel.
    """
    figure = Figure(figsize=(7.4, 3.6))
    panels = np.atleast_1d(figure.subplots(1, len(histories), sharey=True))
    said = []
    for axes, (title, history) in zip(panels, histories.items(), strict=True):
        layers = sorted(name for name in history if name.startswith("layer"))
        shades = matplotlib.colormaps["viridis"](np.linspace(0, 0.85, len(layers)))
        for name, shade in zip(layers, shades, strict=True):
            points = history[name]
            axes.plot(list(points), list(points.values()), color=shade, label=name)
        axes.set_title(title)
        axes.set_xlabel("step")
        axes.set_yscale("log")
        axes.spines[["top", "right"]].set_visible(False)
        first, last = (history[name][0] for name in (layers[0], layers[-1]))
        said.append(f"{title}: {first:.1e} in {layers[0]}, {last:.1e} in {layers[-1]}")
    panels[0].set_ylabel("norm of the gradient")
    panels[-1].legend(frameon=False, loc="lower right")
    figure.tight_layout()
    return Picture(figure, "at the first step\n" + "\n".join(said))


KEYS = {"preds": "preds.y", "targets": "batch.y"}


def measured(workdir: pathlib.Path, **changes) -> kd.train.Trainer:
    """Return the experiment with an evaluation and metrics of several kinds.

    Args:
      workdir: where TensorBoard's files go.
      changes: fields of `kd.train.Trainer` that should be different.
    """
    metrics = {
        "near": experiment.WithinTolerance(**KEYS),
        "residuals": Residuals(**KEYS),
        "median": Collected(**KEYS),
        "gradients": kd.metrics.SkipIfMissing(layer_norms(tensor="grads")["each"]),
    }
    summaries = {
        "spread": kd.summaries.HistogramSummary(tensor="preds.y"),
    }
    fields = {
        "workdir": workdir.absolute(),
        "num_train_steps": 100,
        "log_metrics_every": 50,
        "log_summaries_every": 100,
        "train_metrics": metrics,
        "train_summaries": summaries,
        "eval_ds": resume.evaluation_data(),
        "evals": {"test": kd.evals.Evaluator(run=kd.evals.EveryNSteps(100))},
    }
    return experiment.trainer(**fields | changes)


def tags(folder: pathlib.Path) -> dict[str, list[int]]:
    """Return every tag that was written for TensorBoard, with its steps.

    Args:
      folder: the folder of one collection, such as ``workdir / "train"``.
    """
    events = event_accumulator.EventAccumulator(
        str(folder), size_guidance={event_accumulator.TENSORS: 0}
    ).Reload()
    return {
        tag: [event.step for event in events.Tensors(tag)]
        for tag in sorted(events.Tags()["tensors"])
    }


def checkerboard(size: int = 32) -> np.ndarray:
    """Return an image of squares, float32 `(1, size, size, 1)` from 0.25 to 0.75.

    >>> checkerboard().shape
    (1, 32, 32, 1)
    """
    row = np.arange(size) // 4 % 2
    image = (row[:, None] ^ row[None, :]) / 2 + 0.25
    return image[None, ..., None].astype(np.float32)
