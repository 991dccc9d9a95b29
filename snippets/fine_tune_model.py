"""A classifier in two parts, the first of which can be adapted by few parameters."""

from collections.abc import Mapping

import flax.linen as nn
import jax
from kauldron import kontext


class LowRank(nn.Module):
    """The product of two thin matrices. It begins as zero.

    Attributes:
      features: width of the result.
      rank: width between the two matrices.
    """

    features: int
    rank: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Return float `(batch, features)` for float `(batch, any)`."""
        thin = (x.shape[-1], self.rank)
        down = self.param("down", nn.initializers.lecun_normal(), thin)
        up = self.param("up", nn.initializers.zeros, (self.rank, self.features))
        return x @ down @ up


class Layer(nn.Module):
    """A dense layer and ReLU; with a rank, a low-rank matrix is added to its own.

    Attributes:
      features: width of the result.
      rank: 0 for the layer as it is.
    """

    features: int
    rank: int = 0

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Return float `(batch, features)` for float `(batch, any)`."""
        y = nn.Dense(self.features, name="dense")(x)
        if self.rank:
            y = y + LowRank(self.features, self.rank, name="low_rank")(x)
        return nn.relu(y)


class Encoder(nn.Module):
    """Two layers on the pixels.

    Attributes:
      rank: of what is added to each layer; 0 for nothing.
    """

    rank: int = 0

    @nn.compact
    def __call__(self, image: jax.Array) -> jax.Array:
        """Return float `(batch, 32)` for float `(batch, 8, 8, 1)`."""
        x = image.reshape((image.shape[0], 64))
        x = Layer(64, self.rank, name="first")(x)
        return Layer(32, self.rank, name="second")(x)


class Classifier(nn.Module):
    """An encoder and a head: one score for each of five labels.

    Attributes:
      image: key of the images, float `(batch, 8, 8, 1)`.
      head: what the head is called, and so where its parameters are.
      rank: of what is added to the layers of the encoder; 0 for nothing.
    """

    image: kontext.Key = "batch.image"
    head: str = "head"
    rank: int = 0

    @nn.compact
    def __call__(self, image: jax.Array) -> dict[str, jax.Array]:
        """Return `{"logits": float (batch, 5)}`."""
        x = Encoder(self.rank, name="encoder")(image)
        return {"logits": nn.Dense(5, name=self.head)(x)}


def merged(params: Mapping) -> dict:
    """Return parameters for rank 0 that give what these give: the matrices added up.

    Args:
      params: of a `Classifier` with a rank. They are not changed.
    """
    encoder = {}
    for name, layer in params["encoder"].items():
        dense, added = layer["dense"], layer["low_rank"]
        kernel = dense["kernel"] + added["down"] @ added["up"]
        encoder[name] = {"dense": {**dense, "kernel": kernel}}
    return {**params, "encoder": encoder}
