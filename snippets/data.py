"""Data of one's own as batches: what the chapter *data* shows."""

import contextlib
import copy
import dataclasses
import functools
import io
import itertools
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from unittest import mock

import flax.linen as nn
import grain.python as grain
import mediapy
import numpy as np
import sklearn.datasets
from grain._src.python.dataset.transformations import prefetch
from kauldron import kd, kontext
from matplotlib.figure import Figure

from snippets import experiment
from snippets.showing import GREY, Picture

TRAINING_DIGITS = 1500

# A pipeline's example, and its batch: arrays by name.
Example = dict[str, np.ndarray]


def digits(split: str) -> Example:
    """Return handwritten digits, which scikit-learn brings, in an order of our own.

    Args:
      split: `train` or `test`.

    Returns:
      `image` uint8 `(n, 8, 8, 1)`, from 0 for paper to 16 for ink, and `label` int32
      `(n,)`.

    Raises:
      KeyError: for another split.

    >>> {name: array.shape for name, array in digits("test").items()}
    {'image': (297, 8, 8, 1), 'label': (297,)}
    """
    found = sklearn.datasets.load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    rows = {"train": order[:TRAINING_DIGITS], "test": order[TRAINING_DIGITS:]}[split]
    return {
        "image": found.images[rows, ..., None].astype(np.uint8),
        "label": found.target[rows].astype(np.int32),
    }


def ready_digits(split: str) -> Example:
    """Return the digits as a model wants them.

    Returns:
      `image` float32 `(n, 8, 8, 1)`, from 0 to 1, and `label` int32 `(n, 1)`.

    >>> ready_digits("test")["label"].shape
    (297, 1)
    """
    raw = digits(split)
    return {
        "image": raw["image"].astype(np.float32) / 16,
        "label": raw["label"][:, None],
    }


class Digits:
    """The digits one by one: a data source is anything with these two methods."""

    def __init__(self, split: str):
        self.arrays = digits(split)

    def __len__(self) -> int:
        return len(self.arrays["label"])

    def __getitem__(self, index: int) -> Example:
        return {name: array[index] for name, array in self.arrays.items()}


class Folder:
    """Pictures in folders that are called by their labels, such as ``3/0007.png``.

    A file is read when its example is asked for. The files are sorted, because the
    system lists them in any order.
    """

    def __init__(self, root: pathlib.Path):
        self.files = sorted(root.glob("*/*.png"))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Example:
        file = self.files[index]
        image = mediapy.read_image(file)
        return {"image": image, "label": np.int32(file.parent.name)}


def write_folder(root: pathlib.Path, count: int) -> None:
    """Write the first training digits as `Folder` reads them, with inks of 0 to 240."""
    source = Digits("train")
    for number in range(count):
        example = source[number]
        folder = root / str(example["label"])
        folder.mkdir(parents=True, exist_ok=True)
        picture = example["image"][..., 0] * 15
        mediapy.write_image(folder / f"{number:04}.png", picture)


def digits_pipeline(split: str = "train", **changes) -> kd.data.py.DataSource:
    """Return single digits as shuffled batches of 32, in this process.

    Args:
      split: `train` or `test`.
      changes: fields of `kd.data.py.DataSource` that should be different.
    """
    fields = {"shuffle": True, "batch_size": 32, "seed": 0, "num_workers": 0}
    return kd.data.py.DataSource(Digits(split), **fields | changes)


def first(pipeline: Iterable, count: int) -> list:
    """Return the first batches, without what Kauldron prints about Colab.

    >>> first([1, 2, 3], 2)
    [1, 2]
    """
    with contextlib.redirect_stdout(io.StringIO()):
        return list(itertools.islice(pipeline, count))


def by_worker(pipeline: kd.data.py.PyGrainPipeline, workers: int) -> list[list]:
    """Return the batches of each of several worker processes, without starting them.

    PyGrain cuts the examples as it does in its workers, but in this process. The
    pipeline has to end. Its batches are those of the workers by turns.
    """
    parts = []
    for worker in range(workers):
        part = copy.deepcopy(pipeline._make_root_ds(num_workers=0))
        prefetch._set_slice_iter_dataset(part, slice(worker, None, workers), False)
        parts.append(list(part))
    return parts


def spec(example: Mapping[str, object]) -> str:
    """Return names, dtypes, shapes and ranges of an example, as one line.

    >>> spec({"image": np.array([[0, 16]], np.uint8)})
    'image uint8 (1, 2) from 0 to 16'
    """
    parts = []
    for name, value in example.items():
        array = np.asarray(value)
        part = f"{name} {array.dtype} {array.shape}"
        if array.ndim:
            part += f" from {array.min():g} to {array.max():g}"
        parts.append(part)
    return ", ".join(parts)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Threshold(kd.data.ElementWiseTransform):
    """Say of each value whether it reaches a level.

    >>> Threshold(key="x", level=0.5).map({"x": np.array([0.2, 0.5]), "y": 1})
    {'x': array([0., 1.], dtype=float32), 'y': 1}
    """

    level: float

    def map_element(self, element: np.ndarray) -> np.ndarray:
        """Return 0 and 1, float32, in the shape of the element."""
        return (element >= self.level).astype(np.float32)


@dataclasses.dataclass(frozen=True, kw_only=True)
class IsEven(kd.data.MapTransform):
    """Add `even`, bool, computed from the label: it sees the whole example."""

    def map(self, example: Example) -> Example:
        """Return the example with one element more.

        >>> IsEven().map({"label": np.int32(4)})["even"]
        np.True_
        """
        return example | {"even": example["label"] % 2 == 0}


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnlyLabels(kd.data.FilterTransform):
    """Keep the examples that have one of some labels."""

    labels: tuple[int, ...]

    def filter(self, example: Example) -> bool:
        """Tell whether the example stays.

        >>> OnlyLabels(labels=(3, 5)).filter({"label": np.int32(4)})
        False
        """
        return int(example["label"]) in self.labels


@dataclasses.dataclass(frozen=True, kw_only=True)
class Noise(kd.data.py.ElementWiseRandomTransform):
    """Add normal noise.

    Attributes:
      std: its standard deviation.
    """

    std: float

    def random_map_element(
        self, element: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return float32, in the shape of the element."""
        noise = rng.normal(scale=self.std, size=element.shape)
        return (element + noise).astype(np.float32)


class InTurn(grain.DatasetSelectionMap):
    """Takes from each data set in turn, until the shortest is used up."""

    def __init__(self, *lengths: int):
        self.lengths = lengths

    def __len__(self) -> int:
        return min(self.lengths) * len(self.lengths)

    def __getitem__(self, index: int) -> tuple[int, int]:
        """Return the number of a data set, and that of an example in it.

        >>> [InTurn(5, 9)[n] for n in range(4)]
        [(0, 0), (1, 0), (0, 1), (1, 1)]
        """
        place, dataset = divmod(index, len(self.lengths))
        return dataset, place


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stream(kd.data.Pipeline):
    """Batches from any function that begins to yield them anew at each call."""

    make: Callable[[], Iterator[Example]]

    def __iter__(self) -> kd.data.iters.Iterator:
        return kd.data.iters.NonCheckpointableIterator(source=self, iter=self.make())


def doubling() -> Iterator[Example]:
    """Yield batches of a task without end: `y` is twice `x`, both float32 `(4, 1)`.

    >>> batch = next(doubling())
    >>> bool((batch["y"] == 2 * batch["x"]).all())
    True
    """
    rng = np.random.default_rng(0)
    while True:
        x = rng.normal(size=(4, 1)).astype(np.float32)
        yield {"x": x, "y": 2 * x}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DigitsOf(kd.data.py.DataSourceBase):
    """The digits by the name of their split, which a config can hold as text."""

    split: str

    @functools.cached_property
    def data_source(self) -> Digits:
        """Return the source; it is made when a batch is first asked for."""
        return Digits(self.split)


class Classifier(nn.Module):
    """One hidden layer on the pixels, and a score for each of ten labels.

    Attributes:
      image: key of the images, float `(batch, height, width, channels)`.
    """

    image: kontext.Key = "batch.image"

    @nn.compact
    def __call__(self, image):
        """Return `{"logits": float (batch, 10)}`."""
        x = image.reshape((image.shape[0], -1))
        x = nn.relu(nn.Dense(128)(x))
        return {"logits": nn.Dense(10)(x)}


def classifier(train_ds: kd.data.Pipeline, **changes) -> kd.train.Trainer:
    """Return a trainer that learns the labels of the digits.

    Args:
      train_ds: batches as of `ready_digits`.
      changes: fields of `kd.train.Trainer` that should be different.
    """
    keys = {"logits": "preds.logits", "labels": "batch.label"}
    fields = {
        "train_ds": train_ds,
        "model": Classifier(),
        "train_losses": {"xent": kd.losses.SoftmaxCrossEntropyWithIntLabels(**keys)},
        "train_metrics": {"accuracy": kd.metrics.Accuracy(**keys)},
    }
    return experiment.trainer(**fields | changes)


def evaluations() -> dict[str, kd.evals.Evaluator]:
    """Return evaluations of the test digits, by what becomes of the last batch."""
    prepare = [
        kd.data.ValueRange(key="image", in_vrange=(0, 16), vrange=(0, 1)),
        kd.data.Rearrange(key="label", pattern=" -> 1"),
    ]
    with_mask = [*prepare, kd.data.AddConstants({"mask": np.ones(1, np.float32)})]
    keys = {"logits": "preds.logits", "labels": "batch.label", "mask": "batch.mask"}
    masked = {
        "losses": {"xent": kd.losses.SoftmaxCrossEntropyWithIntLabels(**keys)},
        "metrics": {"accuracy": kd.metrics.Accuracy(**keys)},
    }

    def evaluator(how: str, transforms: list, **changes) -> kd.evals.Evaluator:
        ds = digits_pipeline(
            "test",
            shuffle=False,
            num_epochs=1,
            transforms=transforms,
            batch_drop_remainder=how,
        )
        never = kd.evals.EveryNSteps(10**9, skip_first=True)
        return kd.evals.Evaluator(run=never, ds=ds, **changes)

    return {
        "dropped": evaluator("drop", prepare),
        "padded": evaluator("pad", prepare),
        "kept": evaluator("keep", prepare),
        "masked": evaluator("pad", with_mask, **masked),
    }


def accuracies(run: kd.train.Trainer, state: kd.train.TrainState) -> dict[str, float]:
    """Return the accuracy that each of a trainer's evaluations finds, from 0 to 1."""
    found = {}
    for name, evaluator in run.evals.items():
        with contextlib.redirect_stdout(io.StringIO()):  # what is said about Colab
            aux = evaluator.evaluate(state, step=run.num_train_steps)
        found[name] = float(aux.compute().metric_values["metrics/accuracy"])
    return found


def would_show(plot: Callable[[Example], None], batch: Example) -> str:
    """Return which images a function such as `kd.inspect.plot_batch` would display.

    It would display them as HTML; here nothing is.

    >>> would_show(kd.inspect.plot_batch, {"image": np.zeros((9, 8, 8, 1), np.uint8)})
    'batch.image: 8 of (8, 8, 1)'
    """
    lines = []

    def note(images: np.ndarray, ylabel: str, height: int) -> None:
        name = ylabel.partition(">")[2].partition("<")[0]
        lines.append(f"{name}: {len(images)} of {images.shape[1:]}")

    with mock.patch.object(mediapy, "show_images", note):
        plot(batch)
    return "\n".join(lines)


def gallery(
    rows: Mapping[str, Sequence[np.ndarray]], below: Sequence[object] = ()
) -> Picture:
    """Draw images in rows, dark on white, each row in its own range of values.

    Args:
      rows: images `(height, width, 1)` by the name of their row.
      below: a word for each column.
    """
    columns = max(map(len, rows.values()))
    figure = Figure(figsize=(0.85 * columns + 1, 0.95 * len(rows)))
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for axes_row, (name, images) in zip(grid, rows.items(), strict=True):
        low = min(np.min(image) for image in images)
        high = max(np.max(image) for image in images)
        for axes in axes_row[len(images) :]:
            axes.set_axis_off()
        for axes, image in zip(axes_row, images, strict=False):
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_color(GREY)
            # As many pixels as the image has, not as many as the page.
            axes.imshow(
                np.asarray(image)[..., 0],
                cmap="gray_r",
                vmin=low,
                vmax=high,
                interpolation="none",
            )
        axes_row[0].text(
            -0.15,
            0.5,
            name,
            transform=axes_row[0].transAxes,
            ha="right",
            va="center",
        )
    for axes, word in zip(grid[-1], below, strict=False):
        axes.text(0.5, -0.2, word, transform=axes.transAxes, ha="center", va="center")
    lines = [
        f"{name}: {len(images)} of {images[0].shape}" for name, images in rows.items()
    ]
    if len(below):
        lines.append("below: " + " ".join(map(str, below)))
    return Picture(figure, "\n".join(lines))
