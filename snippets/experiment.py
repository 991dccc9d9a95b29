"""The one small experiment that the chapters on training share.

Linear regression with synthetic data, in memory: sixteen inputs, one target, a
model with one hidden layer. It trains in seconds on a laptop's CPU. The chapter
*loss-and-metric* introduces its loss and its metric, *trainer* all the rest.
"""

import dataclasses

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax
from kauldron import kd, kontext
from kauldron.ktyping import Float, typechecked

TRAINING_ROWS, EVALUATION_ROWS = 512, 128


def rows(count: int, seed: int) -> dict[str, np.ndarray]:
    """Return rows of the task: standard normal inputs, a noisy linear target.

    The weights are always the same; `seed` draws inputs and noise.

    Returns:
      `x` float32 `(count, 16)` and `y` float32 `(count, 1)`.

    >>> {name: array.shape for name, array in rows(8, seed=0).items()}
    {'x': (8, 16), 'y': (8, 1)}
    """
    weights = np.random.default_rng(7).normal(size=(16, 1)).astype(np.float32)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 16)).astype(np.float32)
    noise = rng.normal(size=(count, 1)).astype(np.float32)
    return {"x": x, "y": x @ weights + np.float32(0.1) * noise}


def training_rows() -> dict[str, np.ndarray]:
    """Return the 512 rows to train on."""
    return rows(TRAINING_ROWS, seed=0)


def evaluation_rows() -> dict[str, np.ndarray]:
    """Return the 128 rows to evaluate on."""
    return rows(EVALUATION_ROWS, seed=1)


def training_data(**changes) -> kd.data.Pipeline:
    """Return the training rows as endless, shuffled batches of 32.

    Args:
      changes: fields of `kd.data.InMemoryPipeline` that should be different.
    """
    fields = {"loader": training_rows, "batch_size": 32, "shuffle": True, "seed": 0}
    return kd.data.InMemoryPipeline(**fields | changes)


class MLP(nn.Module):
    """One hidden layer `enc`, ReLU, and an output layer `out`.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
      hidden: width of the hidden layer.
    """

    x: kontext.Key = "batch.x"
    hidden: int = 32

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        x = nn.relu(nn.Dense(self.hidden, name="enc")(x))
        return {"y": nn.Dense(1, name="out")(x)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogCosh(kd.losses.Loss):
    """A squared error that grows only linearly far out: ``log(cosh(p - t))``.

    Attributes:
      preds: key of the predictions, any float shape.
      targets: key of the targets, of the same shape.
    """

    preds: kontext.Key = kontext.REQUIRED
    targets: kontext.Key = kontext.REQUIRED

    @typechecked
    def get_values(self, preds: Float["*b"], targets: Float["*b"]) -> Float["*b"]:
        """Return the loss of each value; the mean, masks and weight are inherited."""
        return log_cosh(preds - targets)


def log_cosh(error: jax.Array) -> jax.Array:
    """Return ``log(cosh(error))``, float of any shape, without overflow.

    ``cosh`` overflows float32 near 89; ``|e| + log1p(exp(-2|e|)) - log(2)`` is the
    same number and never leaves the range.

    >>> float(log_cosh(jnp.float32(0.0))), float(log_cosh(jnp.float32(1000.0))) < 1000
    (0.0, True)
    """
    size = jnp.abs(error)
    return size + jnp.log1p(jnp.exp(-2 * size)) - jnp.log(2.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WithinTolerance(kd.metrics.Metric):
    """The share of predictions that lie near their target.

    Attributes:
      preds: key of the predictions, any float shape.
      targets: key of the targets, of the same shape.
      tol: the largest distance that counts as near.
    """

    preds: kontext.Key = kontext.REQUIRED
    targets: kontext.Key = kontext.REQUIRED
    tol: float = 0.25

    @flax.struct.dataclass
    class State(kd.metrics.AutoState):
        """How many predictions were near, of how many; both are summed on merging."""

        near: Float[""] = kd.metrics.sum_field()
        total: Float[""] = kd.metrics.sum_field()

        def compute(self) -> Float[""]:
            """Return the share, from 0 to 1, as an array of no axes.

            As an array, because `near / total` of two NumPy arrays is a NumPy
            scalar, which writers take and checkpoints refuse.
            """
            return np.asarray(self.near / self.total)

    @typechecked
    def get_state(self, preds: Float["*b"], targets: Float["*b"]) -> State:
        """Return the counts of one batch."""
        near = jnp.abs(preds - targets) <= self.tol
        return self.State(
            near=near.sum(dtype=jnp.float32), total=jnp.float32(near.size)
        )


def trainer(**changes) -> kd.train.Trainer:
    """Return the experiment, ready to train.

    Args:
      changes: fields of `kd.train.Trainer` that should be different.
    """
    fields = {
        "train_ds": training_data(),
        "model": MLP(),
        "optimizer": optax.adam(1e-2),
        "train_losses": {"log_cosh": LogCosh(preds="preds.y", targets="batch.y")},
        "train_metrics": {"near": WithinTolerance(preds="preds.y", targets="batch.y")},
        "num_train_steps": 300,
        "profiler": None,  # it would go on after so short a run
    }
    return kd.train.Trainer(**fields | changes)
