"""One experiment twice, with and without Kauldron: the chapter *from-flax-and-optax*.

Down to `script`, nothing here uses Kauldron, save for the rows of the experiment, which
both read.
"""

import inspect
import io
import itertools
import pathlib
import tokenize
from collections.abc import Iterator, Mapping

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax.metrics.tensorboard import SummaryWriter
from flax.training.train_state import TrainState
from kauldron import kd
from matplotlib.figure import Figure

from snippets.experiment import (
    MLP,
    LogCosh,
    WithinTolerance,
    evaluation_rows,
    log_cosh,
    training_data,
    training_rows,
)
from snippets.resume import evaluation_data
from snippets.showing import BLUE, ORANGE, Picture


def batches(rows: Mapping[str, np.ndarray], seed: int) -> Iterator[dict]:
    """Yield shuffled batches of 32 rows, without end.

    Each epoch is shuffled as Kauldron would, so that the two can be compared.

    >>> batch = next(batches(training_rows(), seed=0))
    >>> batch["x"].shape, batch["y"].shape
    ((32, 16), (32, 1))
    """
    order = np.arange(len(rows["x"]))
    for epoch in itertools.count():
        shuffled = order.copy()
        np.random.Generator(np.random.Philox(key=seed).jumped(epoch)).shuffle(shuffled)
        for chosen in shuffled.reshape(-1, 32):
            yield {name: array[chosen] for name, array in rows.items()}


class Net(nn.Module):
    """One hidden layer `enc`, ReLU, and an output layer `out`.

    Attributes:
      hidden: width of the hidden layer.
    """

    hidden: int = 32

    @nn.compact
    def __call__(self, x):
        """Return the predictions, float `(batch, 1)`."""
        x = nn.relu(nn.Dense(self.hidden, name="enc")(x))
        return nn.Dense(1, name="out")(x)


def mean_log_cosh(preds: jax.Array, targets: jax.Array) -> jax.Array:
    """Return the mean of ``log(cosh(preds - targets))``, a float without axes.

    >>> float(mean_log_cosh(jnp.zeros((4, 1)), jnp.zeros((4, 1))))
    0.0
    """
    return log_cosh(preds - targets).mean()


def near(preds: jax.Array, targets: jax.Array, tol: float = 0.25) -> jax.Array:
    """Return the share of predictions no further than `tol` from their target.

    >>> float(near(jnp.array([0.0, 1.0]), jnp.array([0.1, 2.0])))
    0.5
    """
    return (jnp.abs(preds - targets) <= tol).mean()


@jax.jit
def step(state: TrainState, batch: Mapping[str, jax.Array]):
    """Return the state after one update, and loss and share before it."""

    def loss(params):
        preds = state.apply_fn({"params": params}, batch["x"])
        return mean_log_cosh(preds, batch["y"]), preds

    (value, preds), grads = jax.value_and_grad(loss, has_aux=True)(state.params)
    logged = {"loss": value, "near": near(preds, batch["y"])}
    return state.apply_gradients(grads=grads), logged


@jax.jit
def measure(state: TrainState, batch: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
    """Return loss and share on a batch."""
    preds = state.apply_fn({"params": state.params}, batch["x"])
    return {"loss": mean_log_cosh(preds, batch["y"]), "near": near(preds, batch["y"])}


def evaluate(state: TrainState, rows: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the means of loss and share over batches of 32 rows."""
    found = []
    for at in range(0, len(rows["x"]), 32):
        batch = {name: array[at : at + 32] for name, array in rows.items()}
        found.append(measure(state, batch))
    return jax.tree.map(lambda *values: float(np.mean(values)), *found)


def write(writer: SummaryWriter, values: Mapping[str, float], number: int) -> None:
    """Write values for TensorBoard, under the number of a step."""
    for name, value in values.items():
        writer.scalar(name, float(value), number)


NET, ADAM = Net(), optax.adam(1e-2)


def script(
    workdir: pathlib.Path,
    last_step: int = 100,
    *,
    model: nn.Module = NET,
    optimizer: optax.GradientTransformation = ADAM,
    params=None,
) -> TrainState:
    """Train; evaluate and save every 50 steps; continue where `workdir` left off.

    Args:
      workdir: an absolute folder, for the logs and checkpoints.
      last_step: the number of the last step, from zero.
      model: takes float `(batch, 16)`, returns float `(batch, 1)`.
      optimizer: an optimizer of Optax.
      params: what to begin with, instead of drawing it.
    """
    rows, test_rows = training_rows(), evaluation_rows()
    if params is None:
        params = model.init(jax.random.key(0), rows["x"][:1])["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optimizer)
    train_log = SummaryWriter(workdir / "train")
    test_log = SummaryWriter(workdir / "test")
    options = ocp.CheckpointManagerOptions(save_interval_steps=50, max_to_keep=3)
    with ocp.CheckpointManager(workdir / "checkpoints", options=options) as saved:
        first = saved.latest_step() or 0
        if saved.latest_step() is not None:
            state = saved.restore(first, args=ocp.args.StandardRestore(state))
        remaining = itertools.islice(batches(rows, seed=0), first, last_step + 1)
        for number, batch in enumerate(remaining, first):
            if number % 50 == 0:
                write(test_log, evaluate(state, test_rows), number)
            if saved.should_save(number):
                saved.save(number, args=ocp.args.StandardSave(state))
            state, logged = step(state, batch)
            if number % 10 == 0:
                write(train_log, logged, number)
    train_log.close()
    test_log.close()
    return state


def with_kauldron(workdir: pathlib.Path, last_step: int = 100, **changes):
    """Return the same experiment as a trainer.

    Args:
      workdir: an absolute folder, for the logs and checkpoints.
      last_step: the number of the last step, from zero.
      changes: fields of `kd.train.Trainer` that should be different.
    """
    fields = {
        "workdir": workdir,
        "train_ds": training_data(),
        "eval_ds": evaluation_data(),
        "model": MLP(),
        "optimizer": ADAM,
        "train_losses": {"loss": LogCosh(preds="preds.y", targets="batch.y")},
        "train_metrics": {"near": WithinTolerance(preds="preds.y", targets="batch.y")},
        "num_train_steps": last_step,
        "log_metrics_every": 10,
        "evals": {"test": kd.evals.Evaluator(run=kd.evals.EveryNSteps(50))},
        "checkpointer": kd.ckpts.Checkpointer(save_interval_steps=50),
        "profiler": None,
    }
    return kd.train.Trainer(**fields | changes)


# What each does is done on both sides by: the script's functions, then Kauldron's.
PIECES = {
    "data": ([batches], [training_data, evaluation_data]),
    "model": ([Net], [MLP]),
    "loss": ([mean_log_cosh], [LogCosh]),
    "metric": ([near], [WithinTolerance]),
    "step": ([step], []),
    "evaluation": ([measure, evaluate], []),
    "all the rest": ([script, write], [with_kauldron]),
}


def code_lines(*objects) -> int:
    """Return how many lines of code functions and classes have.

    Blank lines, comments and docstrings do not count.

    >>> code_lines(near), code_lines()
    (2, 0)
    """
    count = 0
    nothing = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    nothing |= {tokenize.COMMENT, tokenize.ENDMARKER}
    for one in objects:
        source = inspect.getsource(one)
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        code, begins = set(), True
        for token in tokens:
            if token.type in nothing:
                begins |= token.type in (tokenize.NEWLINE, tokenize.INDENT)
            elif not (begins and token.type == tokenize.STRING):
                code.update(range(token.start[0], token.end[0] + 1))
                begins = False
        count += len(code)
    return count


def overlay(mine: Mapping[int, float], theirs: Mapping[int, float]) -> Picture:
    """Draw the loss of the script as points on the curve of the trainer.

    Args:
      mine: loss by step, of the script.
      theirs: of the trainer.
    """
    figure = Figure(figsize=(7, 3.2))
    axes = figure.subplots()
    axes.plot(list(theirs), list(theirs.values()), color=BLUE, label="Kauldron")
    axes.plot(
        list(mine), list(mine.values()), "o", color=ORANGE, ms=5, label="the script"
    )
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("loss (log scale)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    last = max(mine)
    return Picture(
        figure, f"at step {last}: script {mine[last]:.4f}, Kauldron {theirs[last]:.4f}"
    )
