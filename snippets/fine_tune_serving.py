"""A trained classifier as bytes that need neither this package nor Kauldron."""

from collections.abc import Mapping

import jax
import jax.export  # `import jax` alone does not bring it
import jax.numpy as jnp

import snippets.fine_tune_model as model


def exported(classifier: model.Classifier, params: Mapping) -> bytes:
    """Return the scores as a function of the images, with the parameters inside.

    The mode is that of an evaluation, whatever layers the classifier will get.

    Args:
      classifier: the model.
      params: its parameters.

    Returns:
      What `jax.export.deserialize` reads: float `(b, 8, 8, 1)` to `(b, 5)`.
    """

    def scores(image: jax.Array) -> jax.Array:
        variables = {"params": params}
        return classifier.apply(variables, image, is_training_property=False)["logits"]

    (rows,) = jax.export.symbolic_shape("b")
    image = jax.ShapeDtypeStruct((rows, 8, 8, 1), jnp.float32)
    return bytes(jax.export.export(jax.jit(scores))(image).serialize())
