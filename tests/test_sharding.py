"""What the chapter *sharding* only shows: the rule, the shares, and what is drawn."""

import json
from unittest import mock

import hypothesis.strategies as st
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from kauldron import kd

from snippets import sharding
from snippets.sharding import (
    MEGABYTE,
    bytes_on_one_device,
    losses,
    parts,
    placed,
    share,
)

EIGHT = AbstractMesh((8,), ("devices",))


def spec(shape: tuple[int, ...], *axes: str | None) -> jax.ShapeDtypeStruct:
    """Return the shape of a float32 array that lies on eight devices."""
    on_eight = NamedSharding(EIGHT, PartitionSpec(*axes))
    return jax.ShapeDtypeStruct(shape, np.float32, sharding=on_eight)


@given(shape=st.lists(st.integers(1, 64), min_size=1, max_size=3).map(tuple))
@settings(max_examples=80, deadline=None)
def test_fsdp_cuts_the_longest_axis_that_divides(shape):
    array = jax.ShapeDtypeStruct(shape, np.float32)
    with mock.patch("jax.device_count", return_value=8):
        found = kd.sharding.FSDPSharding(min_size_to_shard_mb=0)(array).spec
    cut = [axis for axis, name in enumerate(found) if name]
    divisible = [size for size in shape if size % 8 == 0]
    assert [shape[axis] for axis in cut] == ([max(divisible)] if divisible else [])


@pytest.mark.parametrize("more, cut", [(0, False), (1, True)])
def test_fsdp_leaves_alone_what_is_not_larger_than_its_limit(more, cut):
    array = jax.ShapeDtypeStruct((MEGABYTE // 4 + 8 * more,), np.float32)
    with mock.patch("jax.device_count", return_value=8):
        found = kd.sharding.FSDPSharding(min_size_to_shard_mb=1)(array).spec
    assert ("devices" in found) == cut


def test_bytes_and_shares_are_those_of_a_part():
    tree = {"cut": spec((16, 3), "devices"), "copied": spec((5,))}
    assert bytes_on_one_device(tree) == 4 * (16 * 3 // 8 + 5)
    assert share(tree["cut"]) == 1 / 8 and share(tree["copied"]) == 1


def test_boxes_are_filled_by_the_share():
    tree = {"cut": spec((16, 3), "devices"), "copied": spec((5,))}
    with mock.patch("jax.device_count", return_value=8):
        picture = placed({"params": tree})
    assert repr(picture) == "params.copied: all\nparams.cut: 1/8"
    boxes = [p.get_width() for p in picture.figure.axes[0].patches if p.get_fill()]
    assert boxes == [pytest.approx(0.9)] * 8 + [pytest.approx(0.9 / 8)] * 8


def test_each_part_is_told():
    array = jax.device_put(np.zeros((4, 2)), jax.devices()[0])
    assert parts(array) == [(0, (4, 2))]


def test_a_process_says_the_loss_of_its_training(capsys):
    with mock.patch("jax.distributed.initialize") as connect:
        sharding.one_of_two(1, 4321)
    connect.assert_called_once_with("127.0.0.1:4321", num_processes=2, process_id=1)
    said = json.loads(capsys.readouterr().out)
    assert said == {"process": "1 of 1", "devices": [0], "loss": losses(20)[-1]}


def test_a_process_that_fails_is_an_error():
    with (
        mock.patch.object(sharding.sys, "executable", "false"),
        pytest.raises(RuntimeError),
    ):
        sharding.two_processes()
