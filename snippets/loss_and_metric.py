"""What the chapter *loss-and-metric* shows beside the shared experiment."""

import dataclasses
import functools
import itertools
import tempfile
from collections.abc import Callable, Sequence
from unittest import mock

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
from etils import epath
from kauldron import kd, kontext
from kauldron.ktyping import Float
from kauldron.metrics import auto_state
from matplotlib.figure import Figure

from snippets.showing import BLUE, GREY, ORANGE, Picture


def example_rows() -> dict[str, np.ndarray]:
    """Return predictions and targets that have nothing to do with each other.

    Returns:
      `preds` and `targets`, float32 `(8, 4)`, standard normal.
    """
    rng = np.random.default_rng(0)
    draw = functools.partial(rng.normal, size=(8, 4))
    return {"preds": draw().astype(np.float32), "targets": draw().astype(np.float32)}


def plain_log_cosh(error: jax.Array) -> jax.Array:
    """Return ``log(cosh(error))`` as it is written, which overflows far out."""
    return jnp.log(jnp.cosh(error))


def every_order(states: Sequence[kd.metrics.State]) -> set[float]:
    """Return the results of merging in every order, from the left and from the right.

    >>> from snippets.experiment import WithinTolerance
    >>> metric = WithinTolerance(tol=1.0)
    >>> one = metric.get_state(preds=np.zeros(2), targets=np.array([0.0, 5.0]))
    >>> every_order([one, one])
    {0.5}
    """
    results = set()
    for order in itertools.permutations(states):
        from_left = functools.reduce(lambda a, b: a.merge(b), order)
        from_right = functools.reduce(lambda a, b: b.merge(a), reversed(order))
        results |= {float(from_left.compute()), float(from_right.compute())}
    return results


def pooled_and_averaged(parts: Sequence[kd.metrics.State]) -> Picture:
    """Draw the rate of each part, their mean, and the rate of all rows together.

    Args:
      parts: states of `WithinTolerance`, one for each batch.
    """
    rates = [float(part.compute()) for part in parts]
    counts = [int(part.total) for part in parts]
    pooled = float(functools.reduce(lambda a, b: a.merge(b), parts).compute())
    labels = [f"batch of\n{count} values" for count in counts]
    labels += ["mean of\nthe rates", "merged\nstates"]
    heights = [*rates, float(np.mean(rates)), pooled]
    figure = Figure(figsize=(6.4, 3.2))
    axes = figure.subplots()
    colours = [GREY] * len(rates) + [ORANGE, BLUE]
    bars = axes.bar(labels, heights, color=colours, width=0.6)
    axes.bar_label(bars, fmt="%.4f", padding=2)
    axes.set_ylabel("share within tolerance")
    axes.set_ylim(0, max(heights) * 1.2)
    axes.spines[["top", "right"]].set_visible(False)
    numbers = (
        f"{label}: {height:.4f}" for label, height in zip(labels, heights, strict=True)
    )
    return Picture(figure, "\n".join(numbers).replace("\nvalues", " values"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Errors(kd.metrics.Metric):
    """Collects the absolute errors, to show each kind of field.

    Attributes:
      preds: key of the predictions, float `(n,)`.
      targets: key of the targets, float `(n,)`.
    """

    preds: kontext.Key = kontext.REQUIRED
    targets: kontext.Key = kontext.REQUIRED

    @flax.struct.dataclass
    class State(kd.metrics.AutoState):
        """One field of each kind; `keep` is static, the same in all states."""

        keep: int
        total: Float[""] = kd.metrics.sum_field()
        smallest: Float[""] = auto_state.min_field()
        largest: Float[""] = auto_state.max_field()
        every: Float["n"] = kd.metrics.concat_field()
        first: Float["k"] = kd.metrics.truncate_field(num_field="keep")

    def get_state(self, preds: Float["n"], targets: Float["n"]) -> State:
        """Return the errors of one batch."""
        error = jnp.abs(preds - targets)
        return self.State(
            keep=3,
            total=error.sum(),
            smallest=error.min(),
            largest=error.max(),
            every=error,
            first=error,
        )


def report(result: Callable[[np.ndarray], object]) -> str:
    """Report a metric whose `compute` returns what `result` returns.

    The value goes where training sends it: through TensorBoard's writer and, with a
    checkpoint, into the JSON of its evaluations.

    Args:
      result: takes the metric's only field, an array of no axes.

    Returns:
      ``accepted``, or the first line of the error.

    >>> report(float)
    'accepted'
    """

    @flax.struct.dataclass
    class State(kd.metrics.AutoState):
        total: Float[""] = kd.metrics.sum_field()

        def compute(self):
            return result(self.total)

    aux = kd.train.AuxiliariesState(
        metric_states={"reported": State(total=np.ones((), np.float32))}
    )
    model = kd.train.TrainState(step=0, params={}, collections={}, opt_state={})
    with (
        tempfile.TemporaryDirectory() as folder,
        # A checkpoint that fails is tried three times more, after five seconds each.
        mock.patch("time.sleep"),
    ):
        workdir = epath.Path(folder)
        writer = kd.train.KDMetricWriter(workdir=workdir, collection="train")
        checkpoints = kd.ckpts.Checkpointer(workdir=workdir, save_interval_steps=1)
        try:
            writer.write_step_metrics(
                step=0, aux=aux, schedules={}, log_summaries=False
            )
            metrics = aux.compute(flatten=False).metric_values
            checkpoints.save(model, step=0, metrics=metrics)
            checkpoints.wait_until_finished()
        except Exception as error:
            message = str(error).strip().splitlines()[0]
            return f"{type(error).__name__}: {message}"
    return "accepted"
