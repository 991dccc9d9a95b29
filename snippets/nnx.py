"""Modules written with nnx, trained by Kauldron: what the chapter *nnx* shows."""

import contextlib
import dataclasses
import io
from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import nnx
from kauldron import kd, kontext
from kauldron.contrib.modules import knnx


@dataclasses.dataclass(kw_only=True)
class Net(knnx.KdNnxModule):
    """The model of the experiment, with nnx: a layer `enc`, ReLU, a layer `out`.

    Attributes:
      x: key of the inputs, float `(batch, 16)`.
      hidden: width of the hidden layer.
      rate: how much of the hidden layer is dropped in training.
      normed: whether the hidden layer goes through a batch norm.
    """

    x: kontext.Key = "batch.x"
    hidden: int = 32
    rate: float = 0.0
    normed: bool = False

    def setup(self, rngs: nnx.Rngs):
        """Make the layers."""
        self.enc = nnx.Linear(16, self.hidden, rngs=rngs)
        if self.normed:
            self.norm = nnx.BatchNorm(self.hidden, rngs=rngs)
        if self.rate:
            self.drop = nnx.Dropout(self.rate, rngs=rngs)
        self.out = nnx.Linear(self.hidden, 1, rngs=rngs)

    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        x = nnx.relu(self.enc(x))
        if self.normed:
            x = self.norm(x)
        if self.rate:
            x = self.drop(x)
        return {"y": self.out(x)}


class Sown(Net):
    """The same, which also shows what its hidden layer returns."""

    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        inner = self.enc(x)
        self.sow(nnx.Intermediate, "inner", inner)
        return {"y": self.out(nnx.relu(inner))}


@dataclasses.dataclass(kw_only=True)
class Holder(knnx.KdNnxModule):
    """A module around one that its config names.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
      make: makes the inner module, from an `nnx.Rngs`.
    """

    x: kontext.Key = "batch.x"
    make: Callable[..., nnx.Module]

    def setup(self, rngs: nnx.Rngs):
        """Make the inner module."""
        self.inner = self.make(rngs=rngs)

    def __call__(self, x):
        """Return the predictions as `{"y": …}`."""
        return {"y": self.inner(x)}


@dataclasses.dataclass(kw_only=True)
class Ready(knnx.KdNnxModule):
    """A module around one that is there already.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
      inner: the module.
    """

    x: kontext.Key = "batch.x"
    inner: nnx.Module

    def setup(self, rngs: nnx.Rngs):
        """Make nothing: all is there."""

    def __call__(self, x):
        """Return the predictions as `{"y": …}`."""
        return {"y": self.inner(x)}


class Plain(nnx.Module):
    """An nnx module that has never heard of Kauldron: a dropout and a linear layer.

    Args:
      rate: how much of the inputs is dropped in training.
      rngs: where the layers take their numbers from.
    """

    def __init__(self, rate: float = 0.0, *, rngs: nnx.Rngs):
        self.drop = nnx.Dropout(rate, rngs=rngs)
        self.out = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, batch):
        """Return the predictions for a whole batch, as `{"y": float (batch, 1)}`."""
        return {"y": self.out(self.drop(batch["x"]))}


def losses(run: kd.train.Trainer, steps: int, params=None) -> list[float]:
    """Return the loss of the first steps of a run.

    Args:
      run: a trainer; its number of steps is not looked at.
      steps: how many steps to take.
      params: arrays to begin with, in the order in which the model's own are; `None`
        for the model's own.
    """
    state = run.init_state()
    if params is not None:
        tree = jax.tree.structure(state.params)
        copies = [jnp.array(leaf) for leaf in jax.tree.leaves(params)]
        state = state.replace(params=jax.tree.unflatten(tree, copies))
    found = []
    for _, batch in zip(range(steps), run.train_ds, strict=False):
        state, aux = run.trainstep.step(state, batch, return_losses=True)
        found.append(float(aux.compute().loss_values["losses/total"]))
    return found


def kept(state: kd.train.TrainState) -> dict[str, jax.Array]:
    """Return the arrays of a state that are no parameters, by their paths.

    Args:
      state: of a model that inherits from `KdNnxModule`, or was made by
        `linen_from_nnx`.
    """
    found = kontext.flatten_with_path(state.collections["nnx"])
    return {path: leaf for path, leaf in found.items() if isinstance(leaf, jax.Array)}


def forward(
    run: kd.train.Trainer, state: kd.train.TrainState, *, training: bool, step: int = 0
) -> kd.train.Context:
    """Return what the model makes of the first batch, in one of its modes.

    It is compiled, as in the trainer's own step and evaluations.

    Args:
      run: a trainer.
      state: a state of it.
      training: whether in training mode, with the keys of training.
      step: for which step the keys are made.
    """
    rngs = run.rng_streams.train_rngs if training else run.rng_streams.eval_rngs
    batch = next(iter(run.train_ds))

    @jax.jit
    def compiled(state, batch, keys):
        context = kd.train.Context.from_state_and_batch(state=state, batch=batch)
        found = kd.train.forward(
            context, model=run.model, rngs=keys, is_training=training
        )
        return found.preds, found.interms, found.collections

    preds, interms, collections = compiled(state, batch, rngs(step))
    context = kd.train.Context.from_state_and_batch(state=state, batch=batch)
    return context.replace(preds=preds, interms=interms, collections=collections)


def printed(call: Callable[[], object]) -> list[str]:
    """Return the lines that a call prints, also from within compiled code.

    >>> printed(lambda: jax.jit(lambda x: jax.debug.print("x is {}", x))(1))
    ['x is 1']
    """
    with contextlib.redirect_stdout(io.StringIO()) as said:
        jax.block_until_ready(call())
        jax.effects_barrier()
    return said.getvalue().splitlines()
