"""What the chapter *checkpoints* only shows: what is kept, loaded and refused."""

import signal

import flax.struct
import jax
import numpy as np
import pytest
from kauldron import kd
from orbax.checkpoint import checkpoint_managers as policies

from snippets import checkpoints as chapter
from snippets.checkpoints import (
    Deeper,
    Parts,
    PathLoader,
    Tally,
    bytes_of,
    kept,
    options,
    put,
    run,
    run_elsewhere,
    save_steps,
    sharded,
    timelines,
    turning,
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the folder of a run of ten steps, and its last state."""
    folder = tmp_path_factory.mktemp("trained")
    saving = kd.ckpts.Checkpointer(save_interval_steps=5)
    run(folder, 10, checkpointer=saving).train()
    reader = run(folder, 10, checkpointer=saving)
    return folder, reader.checkpointer.restore(reader.state_specs)


@pytest.mark.parametrize(
    ("fields", "saved", "left"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6], [4, 5, 6]),
        ({"max_to_keep": None}, [0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]),
        ({"max_to_keep": 1, "keep_period": 3}, [0, 1, 2, 3, 4, 5, 6], [0, 3, 6]),
        ({"save_interval_steps": 3}, [0, 3, 6], [0, 3, 6]),
        ({"save_interval_steps": 3, "never_save_step_zero": True}, [1, 3, 6], None),
        ({"preservation_policy": policies.LatestN(2)}, [0, 1, 2, 3, 4, 5, 6], [5, 6]),
    ],
)
def test_what_is_saved_and_what_is_kept(fields, saved, left, tmp_path):
    assert save_steps(tmp_path, 6, **fields) == saved
    assert kept(tmp_path) == (saved if left is None else left)


def test_a_tally_comes_back(tmp_path):
    save_steps(tmp_path, 3)
    reader = kd.ckpts.Checkpointer(workdir=tmp_path, save_interval_steps=1)
    blank = Tally(seen=np.zeros(3, int))
    assert reader.restore(blank).seen.tolist() == [3, 3, 3]
    assert reader.restore(blank, step=2).seen.tolist() == [2, 2, 2]


def test_only_finished_checkpoints_count_as_kept(tmp_path):
    for name in ("ckpt_2", "ckpt_10", "ckpt_11.orbax-checkpoint-tmp", "_SNAPSHOTS-1"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    assert kept(tmp_path) == [2, 10]


def test_parts_go_by_their_paths_and_the_rest_stays(trained):
    folder, saved = trained
    paths = {"params.enc": "params.enc", "params.mid.kernel": "params.enc.kernel"}
    fresh = run(folder.parent / "new", 1, model=Deeper(hidden=32)).init_state()
    with pytest.raises(ValueError, match="not compatible with the stored shape"):
        PathLoader(workdir=folder, new_to_old=paths).transform(fresh)
    del paths["params.mid.kernel"]
    loaded = PathLoader(workdir=folder, new_to_old=paths).transform(fresh)
    jax.tree.map(
        np.testing.assert_array_equal, loaded.params["enc"], saved.params["enc"]
    )
    for name in ("mid", "out"):
        assert loaded.params[name]["kernel"] is fresh.params[name]["kernel"]
    assert loaded.params["enc"]["kernel"] is not fresh.params["enc"]["kernel"]
    assert (fresh.params["enc"]["bias"] == 0).all()


def test_a_step_can_be_chosen(trained):
    folder, saved = trained
    fresh = run(folder.parent / "new", 1).init_state()
    paths = {"params": "params"}
    newest = PathLoader(workdir=folder, new_to_old=paths).transform(fresh)
    older = PathLoader(workdir=folder, new_to_old=paths, step=0).transform(fresh)
    np.testing.assert_array_equal(
        newest.params["out"]["kernel"], saved.params["out"]["kernel"]
    )
    np.testing.assert_array_equal(
        older.params["out"]["kernel"], fresh.params["out"]["kernel"]
    )


@pytest.mark.parametrize(
    ("new", "old", "error"),
    [
        ("params.enc", "params.encoder", LookupError),
        ("params.nope", "params.enc", KeyError),
    ],
)
def test_paths_that_lead_nowhere_are_refused(new, old, error, trained):
    fresh = run(trained[0].parent / "new", 1).init_state()
    with pytest.raises(error):
        PathLoader(workdir=trained[0], new_to_old={new: old}).transform(fresh)


def test_a_misspelt_folder_is_not_created(tmp_path, trained):
    fresh = run(tmp_path / "new", 1).init_state()
    loader = PathLoader(workdir=tmp_path / "frist", new_to_old={"params": "params"})
    with pytest.raises(FileNotFoundError):
        loader.transform(fresh)
    assert not (tmp_path / "frist").exists()


def test_a_transform_is_not_asked_when_a_run_goes_on(tmp_path):
    asked = []

    class Ask(kd.ckpts.InitTransform):
        def transform(self, state):
            asked.append("before")
            return state

        def transform_after_optimizer(self, state):
            asked.append("after")
            return state

    for last in (0, 1):
        run(tmp_path, last, init_transform=Ask()).train()
        assert asked == ["before", "after"]


def test_parts_are_not_saved():
    with pytest.raises(NotImplementedError):
        Parts({}).__kd_ocp_save_args__()


def test_put_keeps_what_is_beside():
    tree = {"a": {"b": 1}}
    put(tree, "a.c", 2)
    put(tree, "d", 3)
    assert tree == {"a": {"b": 1, "c": 2}, "d": 3}


def test_bytes_are_counted_by_field():
    @flax.struct.dataclass
    class State:
        a: np.ndarray
        b: dict

    state = State(a=np.zeros(3, np.float32), b={"c": np.zeros(2, np.int8)})
    assert bytes_of(state) == {"a": 12, "b": 2}


def test_options_are_all_fields_that_can_be_given():
    told = {name: "x" for name in options() if name != "_fake_refs"}
    assert kd.ckpts.Checkpointer(**told).workdir == "x"
    assert options()["save_interval_steps"] == "(to be given)"


def test_the_run_turns_where_it_is_said(tmp_path):
    """Its rate, by the steps that a parameter with a constant gradient takes."""
    optimizer = turning(tmp_path, 1).optimizer
    state, moves = optimizer.init(0.0), []
    for _ in range(chapter.TURNS_AT + 2):
        update, state = optimizer.update(1.0, state)
        moves.append(float(update) < 0)
    assert moves == [True] * chapter.TURNS_AT + [False] * 2


def test_sharding_leaves_nothing_for_its_size():
    assert sharded().params.min_size_to_shard_mb == 0


def test_a_process_that_is_not_killed_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(chapter.sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError):
        run_elsewhere(tmp_path)


def test_the_exit_code_is_that_of_a_kill(tmp_path, monkeypatch):
    killer = tmp_path / "killer"
    killer.write_text("#!/bin/sh\necho $XLA_FLAGS\nkill -9 $$\n")
    killer.chmod(0o700)
    monkeypatch.setattr(chapter.sys, "executable", str(killer))
    code, said = run_elsewhere(tmp_path)
    assert code == -signal.SIGKILL
    assert said == f"--xla_force_host_platform_device_count={chapter.DEVICES}"


def test_the_picture_shows_saved_and_kept():
    axes = timelines({"a": ([0, 1, 2], [2]), "b": ([0], [0])}).figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "a"]
    points = [list(line.get_xdata()) for line in axes.lines]
    assert points == [[0], [0], [0, 1, 2], [2]]
