"""What the chapter *debugging* only shows: helpers, faults and sums as described."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from kauldron import kd

from snippets import experiment
from snippets.debugging import (
    Flat,
    Misfit,
    Probe,
    Squashed,
    Talking,
    allowed,
    budget,
    equal,
    in_order,
    mine,
    nbytes,
    where_bytes_are,
)


@pytest.mark.parametrize(
    "optimizer, times, more",
    [
        (optax.sgd(0.1), 0, 0),
        (optax.sgd(0.1, momentum=0.9), 1, 0),
        (optax.adam(1e-2), 2, 4),
    ],
)
def test_the_budget_is_that_of_the_state_that_is_made(optimizer, times, more):
    run = experiment.trainer(optimizer=optimizer)
    found = budget(run)
    assert found["optimizer"] == times * found["parameters"] + more
    assert found["gradients"] == found["parameters"] == 4 * (16 * 32 + 32 + 32 + 1)
    assert found["batch"] == sum(x.nbytes for x in next(iter(run.train_ds)).values())
    assert found["outputs of layers"] == 4 * 32 * (32 + 1)


def test_bytes_of_shapes_are_bytes_of_arrays():
    state = experiment.trainer().init_state()
    specs = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), state)
    assert nbytes(specs) == sum(x.nbytes for x in jax.tree.leaves(state))
    assert nbytes({}) == 0
    assert nbytes(jax.ShapeDtypeStruct((10**10, 10**6), np.float32)) == 4 * 10**16


def test_the_traceback_is_of_one_folder_only(tmp_path):
    with pytest.raises(TypeError) as caught:
        experiment.trainer(model=Misfit()).context_specs  # noqa: B018
    assert mine(caught.value)[-1].startswith("debugging.py, __call__:")
    assert mine(caught.value, tmp_path) == []


def test_equal_is_to_the_last_bit():
    one = {"a": np.float32(1)}
    assert equal(one, {"a": np.float32(1)})
    assert not equal(one, {"a": np.nextafter(np.float32(1), np.float32(2))})


def test_the_faulty_models_are_the_experiments_but_for_the_fault():
    x, key = experiment.rows(4, seed=0)["x"], jax.random.key(0)
    right = experiment.MLP()
    params = right.init(key, x)
    expected = right.apply(params, x)["y"]
    assert equal(Flat().apply(params, x)["y"], expected[:, 0])
    assert equal(Squashed().apply(params, x)["y"], jnp.maximum(expected, 0))
    with in_order():
        assert np.allclose(Talking().apply(params, x)["y"], expected)


def test_prints_of_a_program_come_before_what_follows(capsys):
    @jax.jit
    def double(x):
        jax.debug.print("{x}", x=x)
        return 2 * x

    with in_order():
        print("before")
        double(1)
    print("after")
    assert capsys.readouterr().out == "before\n1\nafter\n"


def test_only_refusals_of_the_guard_are_refusals():
    assert allowed(lambda: None)
    assert not allowed(lambda: jnp.ones(7))
    with pytest.raises(ZeroDivisionError):
        allowed(lambda: 1 / 0)


def test_the_loop_refuses_what_the_probe_does_and_takes_the_cure(tmp_path, capsys):
    def run(name, **how):
        probe = Probe(run=kd.evals.EveryNSteps(1), name="probe", **how)
        return experiment.trainer(
            evals={"probe": probe}, num_train_steps=1, workdir=tmp_path / name
        )

    with pytest.raises(
        Exception, match=r"Evaluator probe failed at step 0: .*Disallow"
    ):
        run("refused").train()
    run("cured", put=jax.device_put).train()
    lines = capsys.readouterr().out.splitlines()
    said = [line[:7] for line in lines if line.startswith("step ")]
    assert said == ["step 0:", "step 1:"]


def test_the_picture_shows_its_numbers():
    one = {"parameters": 1_000_000, "batch": 2_000}
    picture = where_bytes_are({"a": one, "b": {"parameters": 0, "batch": 5_000_000}})
    assert repr(picture) == (
        "a: parameters 1.000 MB, batch 0.002 MB\nb: parameters 0.000 MB, batch 5.000 MB"
    )
    widths = [bar.get_width() for bar in picture.figure.axes[0].patches]
    assert sorted(widths) == [0.0, 0.002, 1.0, 5.0]
