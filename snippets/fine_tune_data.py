"""Some of the ten handwritten digits of scikit-learn, as a task of their own."""

from collections.abc import Sequence

import numpy as np
import sklearn.datasets

OLD, NEW = (0, 1, 2, 3, 4), (5, 6, 7, 8, 9)
TEST_ROWS = 200


def digits_of(
    labels: Sequence[int], *, split: str, limit: int | None = None
) -> dict[str, np.ndarray]:
    """Return the pictures of some digits; a label is a place in the list of digits.

    Args:
      labels: which digits, in ascending order.
      split: `train` or `test`.
      limit: take only so many.

    Returns:
      `image` float32 `(n, 8, 8, 1)`, from 0 to 1, and `label` int32 `(n, 1)`.

    Raises:
      KeyError: for another split.

    >>> some = digits_of((5, 6), split="train", limit=7)
    >>> some["image"].shape, some["label"].shape
    ((7, 8, 8, 1), (7, 1))
    """
    found = sklearn.datasets.load_digits()
    rows = np.flatnonzero(np.isin(found.target, labels))
    rows = np.random.default_rng(0).permutation(rows)
    rows = {"train": rows[TEST_ROWS:], "test": rows[:TEST_ROWS]}[split][:limit]
    return {
        "image": (found.images[rows, ..., None] / 16).astype(np.float32),
        "label": np.searchsorted(labels, found.target[rows, None]).astype(np.int32),
    }
