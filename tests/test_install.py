"""What the chapter *install* only shows: the patch cures its fault and nothing else."""

import datetime
import types

import jax
import numpy as np
import pytest
from etils import enp
from etils.enp import array_spec

from snippets.install import etils_fails, etils_runs, patch_etils, recorded, versions


@pytest.fixture
def old_etils(monkeypatch):
    """Put back the function of etils 1.14, which reaches into jax's private modules."""

    def is_key(dtype):
        return isinstance(dtype, types.SimpleNamespace(jax=jax).jax._src.prng.KeyTy)

    monkeypatch.setattr(array_spec, "_is_jax_random_dtype", is_key)


def test_the_fault_is_found_and_cured(old_etils):
    with pytest.raises(
        AttributeError, match=r"module 'jax._src' has no attribute 'prng'"
    ):
        enp.ArraySpec(shape=(3,), dtype=np.float32)
    assert etils_fails()
    assert patch_etils()
    assert not etils_fails()
    assert repr(enp.ArraySpec(shape=(3,), dtype=np.float32)) == "f32[3]"
    assert not patch_etils()  # a second call finds nothing to do


def test_the_patch_still_knows_random_keys(old_etils):
    patch_etils()
    key = jax.random.key(0)
    assert array_spec._is_jax_random_dtype(key.dtype)
    assert not array_spec._is_jax_random_dtype(np.dtype(np.uint32))


def test_without_the_fault_nothing_is_patched():
    before = array_spec._is_jax_random_dtype
    assert not patch_etils()
    assert array_spec._is_jax_random_dtype is before


def test_records_name_their_versions_and_date():
    for run in recorded("etils-prng")["runs"]:
        assert {"kauldron", "jax", "etils", "patched", "results"} == set(run)
    assert recorded("imports")["versions"]["kauldron"] == versions()["kauldron"]
    for name in ("imports", "etils-prng"):
        datetime.date.fromisoformat(recorded(name)["measured"])
    assert etils_runs().count("\n\n") == len(recorded("etils-prng")["runs"]) - 1


def test_a_record_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        recorded("nope")
