"""Models from Kauldron's parts and from others: what the chapter *models* shows."""

import functools
from collections.abc import Mapping

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from kauldron import kd, kontext
from matplotlib.figure import Figure

from snippets.data import classifier, ready_digits
from snippets.kontext import shapes
from snippets.showing import BLUE, Picture

# How a tiny ViT falls into parts, as patterns of paths.
PARTS = {
    "patches to tokens": "encoder.embedding",
    "positions": "encoder.pos_embedding",
    "attention": "**.attention",
    "MLP": "**.mlp",
    "hidden layer of the head": "pre_logits",
    "classes": "classifier_head",
}


def planned(model: nn.Module, *inputs, **named) -> tuple:
    """Return what a model would give and hold, as shapes and dtypes.

    Nothing is calculated and no memory is taken.

    Args:
      model: in evaluation mode.
      inputs: what it is called with.
      named: the same, by name.

    Returns:
      Its outputs and its variables.

    >>> planned(nn.Dense(3), np.ones((2, 4), np.float32))[0].shape
    (2, 3)
    """
    return jax.eval_shape(
        lambda: model.init_with_output(
            jax.random.key(0), *inputs, is_training_property=False, **named
        )
    )


def held(model: nn.Module, *inputs, **named) -> dict[str, tuple]:
    """Return the shapes of the parameters that a model would hold, by their paths.

    >>> held(nn.Dense(3), np.ones((2, 4), np.float32))
    {'bias': (3,), 'kernel': (4, 3)}
    """
    params = planned(model, *inputs, **named)[1].get("params", {})
    return shapes(kontext.flatten_with_path(params))


def inside(model: nn.Module, *inputs) -> list[str]:
    """Return the paths below `interms` that a training step would have of a model.

    >>> inside(nn.Dense(3), np.ones((2, 4), np.float32))
    ['__call__[0]']
    """
    variables = jax.eval_shape(
        lambda: model.init(
            jax.random.key(0),
            *inputs,
            is_training_property=False,
            mutable=True,
            capture_intermediates=True,
        )
    )
    return sorted(kontext.flatten_with_path(variables["intermediates"]))


def filled(model: nn.Module, *inputs) -> dict:
    """Return variables of a model, with numbers from NumPy instead of its own.

    Kernels are normal and scaled by their first axis, biases zero, and scales one.

    >>> filled(nn.Dense(3), np.ones((2, 4), np.float32))["params"]["bias"]
    array([0., 0., 0.], dtype=float32)
    """
    rng = np.random.default_rng(0)

    def fill(path, leaf):
        if path[-1].key == "kernel":
            values = rng.normal(size=leaf.shape) / leaf.shape[0] ** 0.5
        else:
            values = np.full(leaf.shape, float(path[-1].key == "scale"))
        return values.astype(np.float32)

    return jax.tree_util.tree_map_with_path(fill, planned(model, *inputs)[1])


def count(tree) -> int:
    """Return how many numbers a tree holds; of its shapes as well.

    >>> count({"a": np.zeros((2, 3)), "b": jax.ShapeDtypeStruct((4,), np.float32)})
    10
    """
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


class Calm(kd.nn.WrapperModule):
    """Runs a model in evaluation mode, also where the model around it trains."""

    @nn.compact
    def __call__(self, *args, **kwargs):
        """Return what the model returns."""
        with kd.nn.set_train_property(False):
            return super().__call__(*args, **kwargs)


class Twice(nn.Module):
    """Drops half of the inputs: by the mode that it is told, and never."""

    is_training = kd.nn.train_property()

    @nn.compact
    def __call__(self, x):
        """Return the mode, and both results in the shape of the inputs."""
        return {
            "training": self.is_training,
            "as told": kd.nn.Dropout(0.5)(x),
            "calm": Calm(kd.nn.Dropout(0.5))(x),
        }


class Noted(nn.Module):
    """The model of the experiment, with a note of which hidden units are on.

    Attributes:
      x: key of the inputs, float `(batch, features)`.
    """

    x: kontext.Key = "batch.x"
    interms = kd.nn.interms_property()

    @nn.compact
    def __call__(self, x):
        """Return the predictions as `{"y": float (batch, 1)}`."""
        hidden = nn.relu(nn.Dense(32, name="enc")(x))
        self.interms["active"] = hidden > 0
        return {"y": nn.Dense(1, name="out")(hidden)}


class Reading(nn.Module):
    """Adds a note of the model inside it to what that model returns.

    Attributes:
      model: a model that takes `x`, and notes `active`.
      x: key of the inputs.
    """

    model: nn.Module
    x: kontext.Key = "batch.x"
    interms = kd.nn.interms_property()

    @nn.compact
    def __call__(self, x):
        """Return the outputs of the model, and `active`."""
        outputs = self.model(x)
        return outputs | {"active": self.interms.get_by_path(".model.active[0]")}


class Rows(nn.Module):
    """A tokenizer of one's own: each row of an image is a token."""

    @nn.compact
    def __call__(self, image):
        """Return float `(…, height, width * channels)` of `(…, height, width, c)`."""
        return image.reshape(*image.shape[:-2], -1)


class Unscaled(nn.Module):
    """A norm of one's own: to length one, with nothing to learn."""

    @nn.compact
    def __call__(self, x):
        """Return float of the shape of `x`."""
        return x / (1e-6 + jnp.linalg.norm(x, axis=-1, keepdims=True))


class Scaled(kd.nn.WrapperModule):
    """Calls a model with inputs that are divided by a number.

    Attributes:
      by: the number.
    """

    by: float = 16.0

    @nn.compact
    def __call__(self, x):
        """Return what the model returns."""
        return super().__call__(x / self.by)


class Dense3(nn.Module):
    """Layers of three units, by their names.

    Attributes:
      names: of the layers, from the first to the last.
    """

    names: tuple[str, ...]

    @nn.compact
    def __call__(self, x):
        """Return float `(batch, 3)` of `(batch, 3)`."""
        for name in self.names:
            x = nn.Dense(3, name=name)(x)
        return x


def first_weights(*names: str) -> dict[str, str]:
    """Return the first weight of each layer, drawn from key 0, to three decimals.

    >>> list(first_weights("a", "b"))
    ['a', 'b']
    """
    variables = Dense3(names).init(jax.random.key(0), np.ones((1, 3), np.float32))
    params = variables["params"]
    return {name: f"{params[name]['kernel'][0, 0]:.3f}" for name in names}


def tiny_vit(**changes) -> kd.nn.Vit:
    """Return a vision transformer for the digits: one block, tokens of 32 numbers.

    Args:
      changes: fields of `kd.nn.Vit` that should be different.
    """
    fields = {
        "encoder": kd.nn.VitEncoder.from_variant_str("mu/2"),
        "num_classes": 10,
        "image": "batch.image",
    }
    return kd.nn.Vit(**fields | changes)


def digits_run(**changes) -> kd.train.Trainer:
    """Return a trainer that teaches the digits to the tiny vision transformer.

    Args:
      changes: fields of `kd.train.Trainer` that should be different.
    """
    train_ds = kd.data.InMemoryPipeline(
        loader=functools.partial(ready_digits, "train"),
        batch_size=64,
        shuffle=True,
        seed=0,
    )
    fields = {
        "model": tiny_vit(),
        "optimizer": optax.adam(3e-3),
        "num_train_steps": 400,
        "train_metrics": {},
    }
    return classifier(train_ds, **fields | changes)


def by_part(params, parts: Mapping[str, str]) -> dict[str, int]:
    """Return how many parameters each part holds, and the rest.

    Args:
      params: a tree of arrays or of shapes.
      parts: for each part, a pattern of paths; no parameter is in two of them.

    >>> params = {"a": {"w": np.zeros(3), "b": np.zeros(2)}, "c": np.zeros(1)}
    >>> by_part(params, {"weights": "**.w"})
    {'weights': 3, 'the rest': 3}
    """
    found = {
        part: count(kontext.filter_by_path(params, pattern))
        for part, pattern in parts.items()
    }
    return found | {"the rest": count(params) - sum(found.values())}


def bars(counts: Mapping[str, int]) -> Picture:
    """Draw a bar for each part of a model, as long as the part has parameters."""
    figure = Figure(figsize=(7, 0.36 * len(counts) + 0.7))
    axes = figure.subplots()
    drawn = axes.barh(list(counts), list(counts.values()), 0.7, color=BLUE)
    axes.bar_label(drawn, padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("parameters")
    axes.spines[["top", "right"]].set_visible(False)
    return Picture(figure, "\n".join(f"{part}: {n}" for part, n in counts.items()))
