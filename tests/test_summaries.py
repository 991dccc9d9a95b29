"""What the chapter *summaries* only shows: boxes, letters, and what is read back."""

import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given
from kauldron import kd

from snippets.summaries import (
    COLOURS,
    Coder,
    Described,
    WithPoints,
    box,
    coder,
    codes,
    events,
    images,
    letters,
    pictured,
    rows,
    sheet,
)


@given(image=arrays.arrays(np.uint8, (5, 6), elements=st.integers(0, 1)).filter(np.any))
def test_a_box_holds_all_that_is_not_zero_and_is_tight(image):
    top, left, bottom, right = box(image) * (5, 6, 5, 6)
    inside = image[round(top) : round(bottom), round(left) : round(right)]
    assert inside.sum() == image.sum()
    for edge in (inside[0], inside[-1], inside[:, 0], inside[:, -1]):
        assert edge.any()


def test_the_rows_have_what_the_summaries_ask_for():
    found = rows("test")
    n = len(found["label"])
    assert found["rgb"].shape == (n, 8, 8, 3) and found["box"].shape == (n, 1, 4)
    assert (found["rgb"][..., :1] == found["image"]).all()
    assert (found["colour"] == COLOURS[found["label"][:, 0]]).all()
    assert COLOURS.min() >= 0 and COLOURS.max() <= 1
    assert len(np.unique(COLOURS, axis=0)) == len(COLOURS) == 10
    for name, array in found.items():
        assert array.dtype == (np.int32 if name == "label" else np.float32), name


def test_the_model_returns_what_the_summaries_ask_for():
    batch = {name: array[:5] for name, array in rows("test").items()}
    preds, _ = jax.jit(Coder().init_with_output)(jax.random.key(0), batch["image"])
    assert preds["code"].shape == (5, 3)
    context = {"preds": jax.tree.map(np.asarray, preds), "batch": batch}
    for name, summary in pictured().items():
        value = summary.get_state_from_context(context).finalize().compute()
        if isinstance(value, np.ndarray):
            assert len(value) == 4, name
            assert value.min() >= 0 and value.max() <= 1, name
    assert set(np.unique(preds["ink"])) <= {0, 1, 2}


def test_letters_follow_the_ink():
    assert letters(np.linspace(0, 1, 4).reshape(1, 4)) == "·+oO"
    assert letters(np.array([[-1.0, 2.0]])) == "·O"
    assert letters(np.zeros((2, 3))) == "···\n···"


@pytest.fixture
def writer(tmp_path) -> WithPoints:
    return WithPoints(workdir=tmp_path, collection="mine")


def write(writer: kd.train.KDMetricWriter, step: int, **values: object) -> None:
    """Write what summaries have computed, as a loop would."""

    class Computed:
        loss_values, metric_values = {}, {}
        summary_values = values

        def compute(self, flatten):
            return self

    writer.write_step_metrics(
        step=step, aux=Computed(), schedules={}, log_summaries=True
    )


def test_images_come_back_as_they_were_written(writer):
    grey = np.linspace(0, 1, 32, dtype=np.float32).reshape(2, 4, 4, 1)
    colour = np.random.default_rng(0).uniform(size=(2, 4, 4, 3)).astype(np.float32)
    write(writer, 7, grey=grey, colour=colour)
    folder = writer.workdir / "mine"
    for tag, written in (("grey", grey), ("colour", colour)):
        (back,) = images(folder, tag).values()
        assert np.allclose(back, written * 255, atol=1)
    picture = sheet(folder, ["grey", "colour"])
    assert repr(picture).splitlines() == [
        "grey: 2 images, at steps [7]",
        "colour: 2 images, at steps [7]",
    ]


def test_points_come_back_as_they_were_written(writer):
    points = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    ours = np.full((6, 3), 0.2, np.float32)
    cloud = kd.summaries.PointCloud(
        point_clouds=points, point_colors=ours, configs={"material": {"size": 1}}
    )
    for step in (0, 5):
        write(writer, step, cloud=cloud)
    folder = writer.workdir / "mine-points"
    back = events(folder, "cloud_VERTEX")
    assert set(back) == {0, 5} and np.allclose(back[5][0], points)
    assert (events(folder, "cloud_COLOR")[0] == 51).all()


def test_nothing_is_written_for_no_points(writer):
    write(writer, 0)
    assert not (writer.workdir / "mine-points").exists()


def test_the_drawing_counts_what_it_shows():
    buckets = np.array([[0, 1, 2], [1, 2, 3]], np.float32)
    points = np.zeros((4, 3), np.float32)
    picture = codes({0: buckets, 9: 2 * buckets}, points, np.zeros((4, 3), np.uint8))
    assert repr(picture).splitlines() == [
        "step 0: 5 numbers in 2 buckets",
        "step 9: 10 numbers in 2 buckets",
        "points: 4",
    ]


def test_a_description_is_written_once_for_each_evaluation(tmp_path):
    run = coder(tmp_path)
    described = run.evals["letters"]
    assert isinstance(described, Described) and described.name == "letters"
    described.evaluate(run.init_state(), step=3)
    (texts,) = events(tmp_path / "letters", "summaries/letters").values()
    assert len(texts) == described.num_texts
    assert all(len(text.decode().splitlines()) == 8 for text in texts)
