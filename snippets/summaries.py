"""Pictures, points and texts of a run: what the chapter *summaries* shows."""

import dataclasses
import pathlib
from collections.abc import Mapping

import flax.linen as nn
import jax
import matplotlib
import mediapy
import numpy as np
import optax
import tensorflow as tf
from kauldron import kd, kontext
from matplotlib.figure import Figure
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.mesh import summary_v2 as mesh
from tensorboard.util import tensor_util

from snippets import data, experiment
from snippets.showing import BLUE, GREY, Picture

# A colour for each digit, from 0 to 1.
COLOURS = np.array(matplotlib.colormaps["tab10"].colors, np.float32)


def rows(split: str) -> data.Example:
    """Return the digits of the chapter *data*, with what there is to see in them.

    Args:
      split: `train` or `test`.

    Returns:
      `image` float32 `(n, 8, 8, 1)` from 0 to 1, and the same as `rgb` with three
      channels; `box` float32 `(n, 1, 4)`, where the ink is; `colour` float32 `(n, 3)`,
      one for each label; `label` int32 `(n, 1)`.

    >>> {name: array.shape[1:] for name, array in rows("test").items()}["box"]
    (1, 4)
    """
    found = data.ready_digits(split)
    image = found["image"]
    return found | {
        "rgb": image.repeat(3, axis=-1),
        "box": np.stack([box(one[..., 0]) for one in image])[:, None],
        "colour": COLOURS[found["label"][:, 0]],
    }


def box(image: np.ndarray) -> np.ndarray:
    """Return where an image is not zero, as upper, left, lower and right edge.

    Args:
      image: of shape `(height, width)`.

    Returns:
      float32 `(4,)`, as shares of height and width.

    >>> image = np.zeros((4, 4))
    >>> image[1:3, 2] = 1.0
    >>> box(image).tolist()
    [0.25, 0.5, 0.75, 0.75]
    """
    y, x = np.nonzero(image)
    height, width = image.shape
    edges = (y.min() / height, x.min() / width)
    ends = ((y.max() + 1) / height, (x.max() + 1) / width)
    return np.array([*edges, *ends], np.float32)


class Coder(nn.Module):
    """Three numbers for each image, and from those the image again.

    Attributes:
      image: key of the images, float `(batch, 8, 8, 1)`.
    """

    image: kontext.Key = "batch.image"

    @nn.compact
    def __call__(self, image):
        """Return `code`, `image`, `box`, and `ink`: paper 0, grey 1, ink 2."""
        n = len(image)
        x = nn.relu(nn.Dense(128, name="see")(image.reshape((n, 64))))
        code = nn.Dense(3, name="code")(x)
        x = nn.relu(nn.Dense(128, name="think")(code))
        x = nn.sigmoid(nn.Dense(64 + 4, name="paint")(x))
        painted = x[:, :64].reshape((n, 8, 8, 1))
        return {
            "code": code,
            "image": painted,
            "box": x[:, 64:].reshape((n, 1, 4)),
            "ink": (painted > 0.3).astype(int) + (painted > 0.7),
        }


def pictured() -> dict[str, kd.metrics.Metric]:
    """Return what is to be seen of an evaluation."""
    show = kd.summaries
    return {
        "painted": show.ShowImages(images="preds.image", num_images=4),
        "missed": show.ShowDifferenceImages(
            images1="batch.image", images2="preds.image", num_images=4, vrange=(0, 1)
        ),
        "boxes": show.ShowBoxes(images="batch.rgb", boxes="preds.box", num_images=4),
        "inks": show.ShowSegmentations(segmentations="preds.ink", num_images=4),
        "codes": show.HistogramSummary(tensor="preds.code", num_buckets=20),
        "points": show.ShowPointCloud(
            point_clouds="preds.code", point_colors="batch.colour"
        ),
    }


def coder(workdir: pathlib.Path, **changes) -> kd.train.Trainer:
    """Return a trainer that learns to paint digits from three numbers.

    It evaluates the test digits, always in the same order, before and after.

    Args:
      workdir: where the run writes; made absolute.
      changes: fields of `kd.train.Trainer` that should be different.
    """
    test = kd.data.InMemoryPipeline(
        loader=lambda: rows("test"), batch_size=99, shuffle=False, num_epochs=1
    )
    fields = {
        "train_ds": experiment.training_data(loader=lambda: rows("train")),
        "model": Coder(),
        "optimizer": optax.adam(3e-3),
        "train_losses": {
            "image": kd.losses.L2(preds="preds.image", targets="batch.image"),
            "box": kd.losses.L2(preds="preds.box", targets="batch.box"),
        },
        "train_metrics": {},
        "num_train_steps": 300,
        "log_metrics_every": 300,
        "workdir": workdir.absolute(),
        "writer": WithPoints(),
        "eval_ds": test,
        "evals": {
            "test": kd.evals.Evaluator(
                run=kd.evals.EveryNSteps(300), summaries=pictured()
            ),
            "letters": Described(run=kd.evals.EveryNSteps(300), ds=test),
        },
    }
    return experiment.trainer(**fields | changes)


@dataclasses.dataclass(frozen=True, eq=True, kw_only=True)
class WithPoints(kd.train.KDMetricWriter):
    """Also writes point clouds, into a folder of their own, beside the collection's."""

    def write_pointcloud(self, step, point_clouds, *, point_colors=None, configs=None):
        """Write each cloud for the mesh plugin of TensorBoard."""
        if not point_clouds:
            return
        folder = self.workdir / f"{self.collection}-points"
        with tf.summary.create_file_writer(str(folder)).as_default():
            for name, points in point_clouds.items():
                mesh.mesh(
                    name,
                    vertices=points[None],
                    colors=(255 * point_colors[name][None]).astype(np.uint8),
                    config_dict=configs[name],
                    step=step,
                )


class Described(kd.evals.EvaluatorBase):
    """Writes the first images that the model paints, in letters."""

    ds: kd.data.Pipeline
    num_texts: int = 2

    def evaluate(self, state, step):
        """Write one text for each of the images, and return what was written."""
        show = kd.summaries.ShowTexts(texts="texts", num_texts=self.num_texts)
        batch = next(iter(self.ds))
        with jax.transfer_guard("allow"):
            preds = self.base_cfg.model.apply({"params": state.params}, batch["image"])
        texts = [letters(image) for image in np.asarray(preds["image"])[..., 0]]
        seen = kd.train.AuxiliariesState(
            summary_states={"letters": show.get_state(texts=texts)}
        )
        self.writer.write_step_metrics(
            step=step, aux=seen, schedules={}, log_summaries=True
        )
        return seen


def letters(image: np.ndarray) -> str:
    """Return an image, `(height, width)` from 0 to 1, as lines of letters.

    >>> print(letters(np.array([[0.0, 0.4], [0.7, 1.0]])))
    ·+
    oO
    """
    ink = (np.clip(image, 0.0, 0.999) * 4).astype(int)
    return "\n".join("".join("·+oO"[value] for value in line) for line in ink)


# --- reading back ---------------------------------------------------------------------


def events(folder: pathlib.Path, tag: str) -> dict[int, np.ndarray]:
    """Return what was written under a tag for TensorBoard, by step.

    Args:
      folder: the folder of one collection, such as ``workdir / "test"``.
      tag: such as ``"summaries/painted"``.
    """
    found = event_accumulator.EventAccumulator(
        str(folder), size_guidance={event_accumulator.TENSORS: 0}
    ).Reload()
    return {
        event.step: tensor_util.make_ndarray(event.tensor_proto)
        for event in found.Tensors(tag)
    }


def images(folder: pathlib.Path, tag: str) -> dict[int, np.ndarray]:
    """Return images that were written under a tag, by step.

    Returns:
      Arrays uint8 `(n, height, width, 3)`. In the file are two numbers, and a PNG for
      each image.
    """
    return {
        step: np.stack([_rgb(mediapy.decompress_image(one)) for one in files])
        for step, (_, _, *files) in events(folder, tag).items()
    }


def _rgb(image: np.ndarray) -> np.ndarray:
    return image if image.ndim == 3 else image[..., None].repeat(3, axis=-1)


def sheet(folder: pathlib.Path, tags: list[str]) -> Picture:
    """Draw the images of several summaries, of the first step and of the last.

    Args:
      folder: the folder of one collection.
      tags: summaries of images.
    """
    figure = Figure(figsize=(7, 0.95 * len(tags)))
    grid = figure.subplots(len(tags), 2, squeeze=False)
    lines = []
    for axes_row, tag in zip(grid, tags, strict=True):
        written = images(folder, tag)
        for axes, step in zip(axes_row, (min(written), max(written)), strict=True):
            axes.imshow(_side_by_side(written[step]), interpolation="none")
            axes.set_axis_off()
            if axes in grid[0]:
                axes.set_title(f"step {step}", fontsize="medium")
        name = tag.rpartition("/")[2]
        axes_row[0].text(
            -0.03,
            0.5,
            name,
            transform=axes_row[0].transAxes,
            ha="right",
            va="center",
        )
        lines.append(
            f"{name}: {len(written[max(written)])} images, at steps {sorted(written)}"
        )
    return Picture(figure, "\n".join(lines))


def _side_by_side(pictures: np.ndarray) -> np.ndarray:
    """Return images beside each other, with a column of white between two."""
    gap = np.full_like(pictures[0][:, :1], 255)
    parts = [part for one in pictures for part in (one, gap)]
    return np.concatenate(parts[:-1], axis=1)


def codes(
    buckets: Mapping[int, np.ndarray], vertices: np.ndarray, colours: np.ndarray
) -> Picture:
    """Draw two histograms, and points in the colours of their labels.

    Args:
      buckets: by step, rows of left edge, right edge and count.
      vertices: float `(n, 3)`; the first two numbers of the first 120 are drawn.
      colours: uint8 `(n, 3)`.
    """
    figure = Figure(figsize=(7, 3.2))
    left, right = figure.subplots(1, 2)
    vertices, colours = vertices[:120], colours[:120]
    for (step, rows_), colour in zip(
        sorted(buckets.items()), (GREY, BLUE), strict=True
    ):
        left.stairs(
            rows_[:, 2],
            [*rows_[:, 0], rows_[-1, 1]],
            fill=True,
            color=colour,
            alpha=0.7,
            label=f"step {step}",
        )
    left.set_xlabel("a number of the code")
    left.set_ylabel("how many")
    left.legend(frameon=False)
    right.scatter(vertices[:, 0], vertices[:, 1], s=6, c=colours / 255)
    right.set_xlabel("first number")
    right.set_ylabel("second number")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    lines = [
        f"step {step}: {rows_[:, 2].sum():.0f} numbers in {len(rows_)} buckets"
        for step, rows_ in sorted(buckets.items())
    ]
    return Picture(figure, "\n".join([*lines, f"points: {len(vertices)}"]))
