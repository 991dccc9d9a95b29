"""What the chapter *data* only shows: the rows that arrive are the right ones."""

import itertools
import pathlib
import subprocess
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
import sklearn.datasets
from hypothesis import given, settings
from kauldron import kd

from snippets import data_in_workers
from snippets.data import (
    Digits,
    DigitsOf,
    Folder,
    InTurn,
    IsEven,
    Noise,
    OnlyLabels,
    Stream,
    Threshold,
    accuracies,
    by_worker,
    classifier,
    digits,
    digits_pipeline,
    doubling,
    evaluations,
    first,
    gallery,
    ready_digits,
    spec,
    would_show,
    write_folder,
)


def numbers(count):
    return [{"n": np.int32(n)} for n in range(count)]


def by_grain(count, **fields):
    defaults = {"shuffle": False, "seed": 0, "num_workers": 0}
    return kd.data.py.DataSource(numbers(count), **defaults | fields)


def rows(pipeline):
    return [batch["n"].tolist() for batch in first(pipeline, 1000)]


@given(
    count=st.integers(1, 20),
    size=st.integers(1, 7),
    epochs=st.integers(1, 3),
    how=st.sampled_from(["drop", "keep", "pad"]),
)
@settings(max_examples=40, deadline=None)
def test_pygrain_cuts_batches_from_all_epochs(count, size, epochs, how):
    pipeline = by_grain(
        count, batch_size=size, num_epochs=epochs, batch_drop_remainder=how
    )
    stream = list(range(count)) * epochs
    expected = [list(part) for part in itertools.batched(stream, size)]
    if expected and len(expected[-1]) < size:
        if how == "drop":
            expected.pop()
        elif how == "pad":
            expected[-1] += [0] * (size - len(expected[-1]))
    assert rows(pipeline) == expected
    assert len(pipeline) == len(expected)


@given(count=st.integers(1, 20), size=st.integers(1, 7), epochs=st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_in_memory_cuts_batches_from_each_epoch(count, size, epochs):
    pipeline = kd.data.InMemoryPipeline(
        loader=lambda: {"n": np.arange(count)},
        batch_size=size,
        num_epochs=epochs,
        shuffle=False,
    )
    parts = [list(part) for part in itertools.batched(range(count), size)]
    expected = [part for part in parts if len(part) == size] * epochs
    assert rows(pipeline) == expected
    assert len(pipeline) == len(expected)


@given(count=st.integers(2, 20), seed=st.integers(0, 99))
@settings(max_examples=8, deadline=None)
def test_each_epoch_is_a_permutation_whatever_the_batches(count, seed):
    orders = [
        list(
            itertools.chain(
                *rows(
                    by_grain(
                        count,
                        batch_size=size,
                        num_epochs=3,
                        seed=seed,
                        shuffle=True,
                        batch_drop_remainder="keep",
                    )
                )
            )
        )
        for size in (1, 4)
    ]
    assert orders[0] == orders[1]
    for epoch in itertools.batched(orders[0], count):
        assert sorted(epoch) == list(range(count))


@given(
    lengths=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    weights=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
@settings(max_examples=12, deadline=None)
def test_an_epoch_of_a_mixture_ends_with_the_first_part(lengths, weights):
    parts = [
        kd.data.py.DataSource(
            [{"n": np.int32(1000 * part + n)} for n in range(length)], shuffle=True
        )
        for part, length in enumerate(lengths)
    ]
    mixed = kd.data.py.Mix(
        parts,
        weights=list(weights),
        batch_size=1,
        num_epochs=1,
        seed=0,
        num_workers=0,
    )
    found = list(itertools.chain(*rows(mixed)))
    assert len(set(found)) == len(found)
    # PyGrain keeps the weights as whole numbers, a hundred for the smallest.
    whole = [int(weight * (100 / min(weights))) for weight in weights]
    expected = min(
        length * sum(whole) / weight
        for length, weight in zip(lengths, whole, strict=True)
    )
    assert len(found) == pytest.approx(expected, abs=1)


def test_a_mixture_by_turns():
    parts = [kd.data.py.DataSource(numbers(n), shuffle=False) for n in (3, 5)]
    mixed = kd.data.py.SelectFromDatasets(
        parts,
        selection_map=InTurn(3, 5),
        shuffle=False,
        batch_size=2,
        num_epochs=1,
        seed=0,
        num_workers=0,
    )
    assert rows(mixed) == [[0, 0], [1, 1], [2, 2]]


def test_the_digits_are_those_of_scikit_learn_each_once():
    found = sklearn.datasets.load_digits()
    ours = [digits(split) for split in ("train", "test")]
    images = np.concatenate([part["image"][..., 0] for part in ours])
    labels = np.concatenate([part["label"] for part in ours])
    known = {
        (image.astype(np.uint8).tobytes(), int(label))
        for image, label in zip(found.images, found.target, strict=True)
    }
    assert known == {
        (image.tobytes(), int(label))
        for image, label in zip(images, labels, strict=True)
    }
    assert len(labels) == len(found.target)
    with pytest.raises(KeyError):
        digits("validation")


def test_ready_digits_are_what_the_transforms_make():
    batch = first(evaluations()["dropped"].ds, 1)[0]
    ready = ready_digits("test")
    for name, array in batch.items():
        np.testing.assert_allclose(array, ready[name][: len(array)])
        assert array.dtype == ready[name].dtype


def test_the_mask_of_the_evaluation_tells_rows_from_padding():
    batches = first(evaluations()["masked"].ds, 1000)
    mask = np.concatenate([batch["mask"] for batch in batches])[:, 0]
    labels = np.concatenate([batch["label"] for batch in batches])[:, 0]
    expected = digits("test")["label"]
    assert len(mask) > mask.sum() == len(expected)
    np.testing.assert_array_equal(labels[mask == 1], expected)
    np.testing.assert_array_equal(labels[mask == 0], 0)


def test_a_folder_gives_back_what_was_written(tmp_path):
    write_folder(tmp_path, 20)
    source, written = Folder(tmp_path), Digits("train")
    assert len(source) == 20
    for file, example in zip(source.files, source, strict=True):
        original = written[int(file.stem)]
        assert example["label"] == original["label"]
        np.testing.assert_array_equal(example["image"], 15 * original["image"][..., 0])


def test_a_named_source_is_the_same_as_the_source_itself():
    fields = {"shuffle": True, "batch_size": 8, "seed": 3, "num_workers": 0}
    named = DigitsOf(split="test", **fields)
    plain = kd.data.py.DataSource(Digits("test"), **fields)
    for one, other in zip(first(named, 3), first(plain, 3), strict=True):
        np.testing.assert_array_equal(one["image"], other["image"])


def test_transforms_of_ones_own():
    example = Digits("train")[0]
    ink = Threshold(key="image", level=8).map(example)["image"]
    np.testing.assert_array_equal(ink == 1, example["image"] >= 8)
    assert set(np.unique(ink)) == {0, 1}
    for label in (3, 4):
        labelled = example | {"label": np.int32(label)}
        assert IsEven().map(labelled)["even"] == (label == 4)
        assert OnlyLabels(labels=(4,)).filter(labelled) == (label == 4)


def test_noise_has_its_deviation_and_no_mean():
    source = [{"x": np.zeros(1000, np.float32)}]
    pipeline = kd.data.py.DataSource(
        source,
        shuffle=False,
        transforms=[Noise(key="x", std=2.0)],
        batch_size=10,
        num_epochs=10,
        seed=0,
        num_workers=0,
    )
    (batch,) = first(pipeline, 2)
    assert batch["x"].std() == pytest.approx(2, rel=0.05)
    assert batch["x"].mean() == pytest.approx(0, abs=0.1)
    assert len(np.unique(batch["x"][:, 0])) == 10 and batch["x"].dtype == np.float32


def test_a_stream_begins_anew():
    stream = Stream(make=doubling, batch_size=4)
    (one,), (other,) = first(stream, 1), first(stream, 1)
    np.testing.assert_array_equal(one["x"], other["x"])
    assert [len(b["x"]) for b in first(stream, 3)] == [4, 4, 4]


def test_first_prints_nothing(capsys):
    first(digits_pipeline("test"), 1)
    assert capsys.readouterr().out == ""


def test_an_example_without_axes_has_no_range():
    assert spec({"a": np.float32(1), "b": np.array([1, 3])}) == (
        "a float32 (), b int64 (2,) from 1 to 3"
    )


def test_the_gallery_shows_each_image_once():
    rows_ = {"a": np.zeros((3, 4, 4, 1)), "b": np.ones((2, 4, 4, 1))}
    picture = gallery(rows_, below=["x", "y", "z"])
    shown = [axes for axes in picture.figure.axes if axes.images]
    assert len(shown) == 5
    assert "a: 3 of (4, 4, 1)" in str(picture) and "x y z" in str(picture)


def test_only_images_would_be_plotted():
    batch = {"image": np.zeros((2, 4, 4, 3), np.uint8), "label": np.zeros((2, 1))}
    assert would_show(kd.inspect.plot_batch, batch) == "batch.image: 2 of (4, 4, 3)"


def test_workers_take_every_nth_example():
    pipeline = by_grain(12, batch_size=2, num_epochs=1)
    for workers in (1, 2, 3):
        for worker, part in enumerate(by_worker(pipeline, workers)):
            taken = list(range(12))[worker::workers]
            expected = [list(p) for p in itertools.batched(taken, 2) if len(p) == 2]
            assert [batch["n"].tolist() for batch in part] == expected


@pytest.mark.proof
def test_the_script_prints_the_batches_of_real_workers():
    script = pathlib.Path(data_in_workers.__file__)
    said = subprocess.run(
        [sys.executable, script], check=True, capture_output=True, text=True
    ).stdout
    pipeline = by_grain(10, batch_size=2, num_epochs=1)
    one, other = by_worker(pipeline, 2)
    by_turns = itertools.chain(*zip(one, other, strict=True))
    assert said.splitlines() == [
        f"0 workers: {rows(pipeline)}",
        f"2 workers: {[batch['n'].tolist() for batch in by_turns]}",
    ]


def test_accuracies_are_found_by_every_evaluation(tmp_path):
    run = classifier(
        kd.data.InMemoryPipeline(
            loader=lambda: ready_digits("train"), batch_size=32, shuffle=True
        ),
        num_train_steps=1,
        workdir=tmp_path,
        evals=evaluations(),
    )
    state = run.init_state()
    found = accuracies(run, state)
    ready = ready_digits("test")
    logits = run.model.apply({"params": state.params}, ready["image"])["logits"]
    right = np.argmax(logits, -1) == ready["label"][:, 0]
    assert found["kept"] == pytest.approx(right.mean())
    assert found["masked"] == pytest.approx(right.mean())
    assert found["dropped"] == pytest.approx(right[: len(right) // 32 * 32].mean())
