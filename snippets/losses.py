"""Losses in depth: what the chapter *losses* shows."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
from kauldron import kd, kontext
from kauldron.ktyping import Float, typechecked
from matplotlib.figure import Figure

from snippets import experiment
from snippets.showing import BLUE, GREEN, GREY, ORANGE, Picture

DISTANCES = {
    "L1": kd.losses.L1(),
    "L2": kd.losses.L2(),
    "Huber": kd.losses.Huber(delta=1.0),
}


def slopes(loss: kd.losses.Loss, errors: np.ndarray) -> np.ndarray:
    """Return the derivative of a loss by the prediction: how hard each error pulls.

    Args:
      loss: takes `preds` and `targets`.
      errors: predictions less targets, float32 `(n,)`.

    Returns:
      float32 `(n,)`.

    >>> slopes(kd.losses.L2(), np.array([-1.0, 0.5], np.float32)).tolist()
    [-2.0, 1.0]
    """

    def value(error: jax.Array) -> jax.Array:
        return loss.get_values(preds=error, targets=jnp.zeros_like(error))

    return np.asarray(jax.vmap(jax.grad(value))(jnp.asarray(errors)))


def distances() -> Picture:
    """Draw L1, L2 and Huber over the error, and their slopes."""
    errors = np.linspace(-3, 3, 121, dtype=np.float32)
    figure = Figure(figsize=(7.4, 3.4))
    left, right = figure.subplots(1, 2)
    lines = []
    for (name, loss), colour, style in zip(
        DISTANCES.items(), (ORANGE, GREY, BLUE), ("-", "-", "--"), strict=True
    ):
        values = loss.get_values(preds=errors, targets=np.zeros_like(errors))
        left.plot(errors, values, style, color=colour, label=name, linewidth=2)
        right.plot(errors, slopes(loss, errors), style, color=colour, linewidth=2)
        value, slope = values[-1], slopes(loss, errors)[-1]
        lines.append(f"{name}: {value:.2f} and slope {slope:.2f} at an error of 3")
    left.set_ylabel("loss")
    left.set_ylim(0, 5)
    right.set_ylabel("slope")
    right.set_ylim(-4, 4)
    for axes in (left, right):
        axes.set_xlabel("error")
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False)
    figure.tight_layout()
    return Picture(figure, "\n".join(lines))


def pull_of_one(loss: kd.losses.Loss, valid: int, size: int = 8) -> float:
    """Return the gradient that one value gets in a batch with so many valid values.

    Args:
      loss: L1, whose gradient would be 1 if it were not for the mean.
      valid: how many of the batch's values are not masked.
      size: how many values there are.

    >>> pull_of_one(kd.losses.L1(), valid=4), pull_of_one(kd.losses.L1(), valid=8)
    (0.25, 0.125)
    """
    mask = jnp.arange(size) < valid
    targets = jnp.zeros(size)
    gradient = jax.grad(lambda preds: loss(preds=preds, targets=targets, mask=mask))
    return float(gradient(jnp.ones(size))[0])


def rare_rows(count: int = 16384, seed: int = 0) -> dict[str, np.ndarray]:
    """Return rows of which few are positive: with probability ``sigmoid(2x - 3)``.

    Returns:
      `x` float32 `(count, 1)`, standard normal, and `label` int32 `(count, 1)`.

    >>> float(rare_rows()["label"].mean()) < 0.2
    True
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 1)).astype(np.float32)
    chance = 1 / (1 + np.exp(3 - 2 * x))
    return {"x": x, "label": (rng.uniform(size=(count, 1)) < chance).astype(np.int32)}


def class_weights(label: np.ndarray, positive: float) -> np.ndarray:
    """Return a mask that gives each positive row more to say, float32 like `label`.

    >>> class_weights(np.array([[1], [0]]), positive=5.0).tolist()
    [[5.0], [1.0]]
    """
    return np.where(label == 1, np.float32(positive), np.float32(1))


def fit(rows: dict[str, np.ndarray], positive: float) -> tuple[float, float]:
    """Return slope and intercept of a logistic regression on weighted rows.

    Args:
      rows: as `rare_rows` returns them.
      positive: the weight of a positive row; the others weigh 1.
    """
    loss = kd.losses.SigmoidBinaryCrossEntropy()
    mask = class_weights(rows["label"], positive)

    def total(line: jax.Array) -> jax.Array:
        logits = line[0] * rows["x"] + line[1]
        return loss(logits=logits, labels=rows["label"], mask=mask)

    derivatives = jax.jit(
        lambda line: (jax.grad(total)(line), jax.hessian(total)(line))
    )
    line = np.zeros(2, np.float32)
    for _ in range(10):  # Newton's steps: the loss is convex
        gradient, hessian = derivatives(line)
        line = line - np.linalg.solve(hessian, gradient)
    return float(line[0]), float(line[1])


def calibration(
    rows: dict[str, np.ndarray], line: tuple[float, float], bins: int = 10
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean prediction and share of positives, in bins of as many rows each.

    Args:
      rows: as `rare_rows` returns them.
      line: slope and intercept, as `fit` returns them.
      bins: how many; the rows are sorted by their prediction.

    Returns:
      two float arrays `(bins,)`.
    """
    predicted = 1 / (1 + np.exp(-(line[0] * rows["x"] + line[1])))
    order = np.argsort(predicted[:, 0])
    parts = [
        np.array_split(values[order, 0], bins) for values in (predicted, rows["label"])
    ]
    means = [np.array([part.mean() for part in several]) for several in parts]
    return means[0], means[1]


def reliability(
    rows: dict[str, np.ndarray], lines: dict[float, tuple[float, float]]
) -> Picture:
    """Draw how often a prediction comes true, for fits with some class weights.

    Args:
      rows: as `rare_rows` returns them.
      lines: the fit for each weight of the positive rows.
    """
    figure = Figure(figsize=(4.6, 4.2))
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":")
    share = np.linspace(0, 1, 101)
    said = []
    for (weight, line), colour, marker in zip(
        lines.items(), (BLUE, ORANGE, GREEN), "os^", strict=False
    ):
        predicted, observed = calibration(rows, line)
        label = f"weight {weight:g}"
        axes.plot(predicted, observed, marker, color=colour, label=label)
        if weight != 1:
            odds = share / np.maximum(1 - share, 1e-9) / weight
            axes.plot(share, odds / (1 + odds), color=colour, linewidth=1)
        said.append(f"{label}: {predicted[-1]:.3f} said, {observed[-1]:.3f} true")
    axes.set_xlabel("predicted probability")
    axes.set_ylabel("share of positives")
    axes.set_aspect("equal")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return Picture(figure, "in the last bin\n" + "\n".join(said))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Square(kd.losses.Loss):
    """The square of each value, which Kauldron has no loss for.

    Attributes:
      values: key of any float tensor, such as parameters.
    """

    values: kontext.Key = kontext.REQUIRED

    @typechecked
    def get_values(self, values: Float["*any"]) -> Float["*any"]:
        """Return the square of each value."""
        return jnp.square(values)


def penalised(weight: float | optax.Schedule, **changes) -> kd.train.Trainer:
    """Return the experiment with a penalty on the size of the inner kernel.

    The same size, not weighted, is among the metrics.

    Args:
      weight: of the penalty, a number or a schedule.
      changes: fields of `kd.train.Trainer` that should be different.
    """
    kernel = "params.enc.kernel"
    losses = {
        "fit": experiment.LogCosh(preds="preds.y", targets="batch.y"),
        "penalty": kd.losses.AbsoluteValue(values=kernel, weight=weight),
    }
    metrics = {"size": kd.losses.AbsoluteValue(values=kernel)}
    fields = {"train_losses": losses, "train_metrics": metrics}
    return experiment.trainer(**fields | changes)


def ramp(written: dict[str, dict[int, float]]) -> Picture:
    """Draw a penalty as it is reported, and the size that it is about.

    Args:
      written: what `penalised` wrote for TensorBoard, by tag and step.
    """
    figure = Figure(figsize=(7, 3.4))
    axes = figure.subplots()
    said = []
    for tag, label, colour in (
        ("metrics/size", "mean size of the weights", GREY),
        ("losses/penalty", "penalty, as reported", ORANGE),
    ):
        points = written[tag]
        axes.plot(list(points), list(points.values()), color=colour, label=label)
        first, last = points[min(points)], points[max(points)]
        said.append(f"{tag}: {first:.4f} → {last:.4f}")
    axes.set_xlabel("step")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return Picture(figure, "\n".join(said))
