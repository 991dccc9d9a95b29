"""What the chapter *fine-tune* only shows: its project is a folder that works alone."""

import os
import pathlib
import shutil
import subprocess
import sys

import jax
import numpy as np
import pytest
from kauldron import kd

import snippets.fine_tune_data as data
import snippets.fine_tune_finetune as finetune
import snippets.fine_tune_metrics as metrics
import snippets.fine_tune_model as model
import snippets.fine_tune_pretrain as pretrain
from snippets import fine_tune
from snippets.fine_tune import EXAMPLE, as_before, bars, begun, loaded, sizes
from snippets.trainer import scalars


def alone(root: pathlib.Path, folder: pathlib.Path, *program: str) -> str:
    """Run a program in a copy of the example, which sees nothing of the book."""
    kept = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(root / EXAMPLE, folder, ignore=kept)
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *program],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_own_tests_pass_in_an_empty_folder(root, tmp_path):
    said = alone(root, tmp_path / "copy", "-m", "pytest", "-q")
    assert "2 passed" in said


def test_its_config_is_a_command_line(root, tmp_path):
    """What was saved under the book's names is loaded under the example's."""
    cfg = pretrain.get_config() | {"num_train_steps": 1, "evals": {}}
    begun(cfg, str(tmp_path / "old")).train()
    program = ["-m", "kauldron.main", "--cfg=digits/finetune.py"]
    edits = {
        "workdir": tmp_path / "new",
        "init_transform.workdir": tmp_path / "old",
        "num_train_steps": 1,
        "model.rank": 2,
        "optimizer.mask.pattern": "(new_head|low_rank)",
    }
    program += [f"--cfg.{path}={value}" for path, value in edits.items()]
    alone(root, tmp_path / "copy", *program)
    assert list(scalars(tmp_path / "new" / "test")["metrics/accuracy"]) == [1]
    reader = kd.ckpts.Checkpointer(workdir=tmp_path / "new", save_interval_steps=1)
    found = reader.restore(kd.ckpts.items.StandardCheckpointItem())["params"]
    assert sizes(found)["encoder.second.low_rank"] == 2 * (64 + 32)
    reader = kd.ckpts.Checkpointer(workdir=tmp_path / "old", save_interval_steps=1)
    old = reader.restore(kd.ckpts.items.StandardCheckpointItem())["params"]
    kernels = [p["encoder"]["first"]["dense"]["kernel"] for p in (old, found)]
    np.testing.assert_array_equal(*kernels)


def test_old_and_new_digits_share_nothing():
    counts = {}
    for labels in (data.OLD, data.NEW):
        parts = [data.digits_of(labels, split=split) for split in ("train", "test")]
        images = np.concatenate([part["image"] for part in parts])
        counts[labels] = len(images)
        assert len(parts[1]["label"]) == data.TEST_ROWS
        assert {int(x) for part in parts for x in np.unique(part["label"])} == set(
            range(5)
        )
        assert images.min() == 0 and images.max() == 1
    assert sum(counts.values()) == 1797
    with pytest.raises(KeyError):
        data.digits_of(data.OLD, split="validation")


def test_a_merged_matrix_gives_the_same_scores():
    low = model.Classifier(rank=3)
    image = data.digits_of(data.NEW, split="test", limit=5)["image"]
    params = low.init(jax.random.key(0), image)["params"]
    noise = np.random.default_rng(0)
    params = jax.tree.map(lambda x: x + noise.normal(0, 0.1, x.shape), params)
    before = jax.tree.map(np.array, params)
    one = low.apply({"params": params}, image)["logits"]
    two = model.Classifier().apply({"params": model.merged(params)}, image)["logits"]
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-4)
    assert jax.tree.all(jax.tree.map(np.array_equal, before, params))


def test_the_worst_label_is_that_of_all_batches_together():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(60, 3)).astype(np.float32)
    labels = rng.integers(0, 2, size=(60, 1)).astype(np.int32)  # the third is not there
    metric = metrics.WorstLabel()
    parts = [slice(0, 13), slice(13, 20), slice(20, 60)]
    states = [metric.get_state(logits=logits[p], labels=labels[p]) for p in parts]
    merged = states[0].merge(states[1]).merge(states[2])
    right = logits.argmax(axis=1) == labels[:, 0]
    expected = min(right[labels[:, 0] == label].mean() for label in (0, 1))
    assert float(merged.compute()) == pytest.approx(expected)


def test_the_pretrained_folder_has_to_be_given(tmp_path):
    cfg = finetune.get_config()
    assert cfg.init_transform.workdir is None
    with pytest.raises(TypeError):
        begun(cfg, str(tmp_path)).init_state()


def test_helpers_go_by_names():
    old = {"encoder": {"first": {"dense": {"kernel": np.ones(2)}}}}
    old |= {"old_head": {"bias": np.zeros(1)}}
    layer = {"dense": {"kernel": np.ones(2)}, "low_rank": {"up": np.ones(1)}}
    new = {"encoder": {"first": layer}, "new_head": {"bias": np.zeros(1)}}
    state = kd.train.TrainState(step=0, params=new, collections={}, opt_state=None)
    assert [layer for layer, same in loaded(state, old).items() if same] == [
        "encoder.first.dense"
    ]
    assert sizes(as_before(new, old)) == sizes(old)


def test_the_picture_shows_its_numbers():
    picture = bars({"a": 0.25, "b": 1.0}, {"a": 0.5, "b": 0.75})
    assert repr(picture) == "a: new 0.25, old 0.50\nb: new 1.00, old 0.75"
    widths = [bar.get_width() for bar in picture.figure.axes[0].patches]
    assert sorted(widths) == [0.25, 0.5, 0.75, 1.0]
    assert fine_tune.EXAMPLE == "examples/fine_tune"
