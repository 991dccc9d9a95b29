"""A metric that an average hides: how well the worst label is recognised."""

import dataclasses

import flax.struct
import jax
import numpy as np
from kauldron import kd, kontext
from kauldron.ktyping import Float, Int, typechecked


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorstLabel(kd.metrics.Metric):
    """The accuracy for the label for which it is lowest.

    Attributes:
      logits: key of the scores, float `(batch, labels)`.
      labels: key of the labels, int `(batch, 1)`.
    """

    logits: kontext.Key = "preds.logits"
    labels: kontext.Key = "batch.label"

    @flax.struct.dataclass
    class State(kd.metrics.AutoState):
        """How many examples of each label were right, of how many."""

        right: Float["n"] = kd.metrics.sum_field()
        total: Float["n"] = kd.metrics.sum_field()

        def compute(self) -> Float[""]:
            """Return the lowest share, from 0 to 1; a label never seen has none."""
            shares = self.right / np.maximum(self.total, 1)
            return np.asarray(np.min(shares, where=self.total > 0, initial=1.0))

    @typechecked
    def get_state(self, logits: Float["b n"], labels: Int["b 1"]) -> State:
        """Return the counts of one batch."""
        asked = jax.nn.one_hot(labels[:, 0], logits.shape[1])
        said = jax.nn.one_hot(logits.argmax(axis=1), logits.shape[1])
        return self.State(right=(asked * said).sum(axis=0), total=asked.sum(axis=0))
