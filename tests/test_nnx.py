"""What the chapter *nnx* only shows: shells that keep what an nnx module is."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from kauldron.contrib.modules import linen_from_nnx

from snippets.experiment import trainer
from snippets.nnx import (
    Holder,
    Net,
    Plain,
    Ready,
    Sown,
    forward,
    kept,
    losses,
    printed,
)

KEYS = {"params": jax.random.key(0), "dropout": jax.random.key(1)}


@pytest.mark.parametrize("hidden", [1, 5])
def test_the_shell_computes_what_the_module_does(hidden):
    shell = Net(hidden=hidden)
    variables = shell.init(KEYS)
    inside = Net(hidden=hidden)
    inside.setup(nnx.Rngs(3))
    nnx.update(inside, nnx.State(variables["params"]))
    x = jax.random.normal(jax.random.key(2), (4, 16))
    np.testing.assert_allclose(shell.apply(variables, x)["y"], inside(x)["y"])


def test_init_leaves_the_shell_empty():
    shell = Net(rate=0.5)
    before = dict(vars(shell))
    first, second = shell.init(KEYS), shell.init(KEYS)
    assert vars(shell) == before and not hasattr(shell, "out")
    same = jax.tree.map(lambda a, b: (a == b).all(), first["params"], second["params"])
    assert jax.tree.all(same)


@pytest.mark.parametrize("jitted", [True, False])
def test_only_outside_jit_the_variables_change(jitted):
    net, x = Net(normed=True), jax.random.normal(jax.random.key(2), (8, 16)) + 1
    variables = net.init(KEYS)
    mean = variables["nnx"]["attributes"]["norm"]["mean"]
    before = np.array(mean[...])
    (jax.jit(net.apply) if jitted else net.apply)(variables, x)
    assert bool((np.array(mean[...]) == before).all()) is jitted


def test_modes_and_keys():
    run = trainer(model=Net(rate=0.5, normed=True))
    state = run.init_state()
    for training in (True, False):
        one, other = (
            forward(run, state, training=training, step=step).preds["y"]
            for step in (0, 1)
        )
        assert bool((one != other).any()) is training
    names = {path.rsplit(".", 2)[1] for path in kept(state)}
    assert names == {"mean", "var", "count", "key"}


def test_what_is_sown_is_what_the_layer_returns():
    run = trainer(model=Sown())
    state = run.init_state()
    interms = forward(run, state, training=False).interms
    x = next(iter(run.train_ds))["x"]
    layer = state.params["enc"]
    np.testing.assert_allclose(
        interms["inner"][0], x @ layer["kernel"][...] + layer["bias"][...], atol=1e-5
    )


def test_a_holder_makes_its_part_from_the_keys_that_it_gets():
    held = Holder(make=functools.partial(nnx.Linear, 16, 1))
    one, other = (held.init({"params": jax.random.key(k)}) for k in (0, 1))
    kernels = [v["params"]["inner"]["kernel"][...] for v in (one, other)]
    assert (kernels[0] != kernels[1]).any()
    ready = Ready(inner=nnx.Linear(16, 1, rngs=nnx.Rngs(5)))
    kernel = ready.init(KEYS)["params"]["inner"]["kernel"][...]
    assert (kernel == ready.inner.kernel[...]).all()
    assert losses(trainer(model=held), 2)[0] > 0


def test_a_wrapped_class_takes_the_whole_batch():
    wrapped = linen_from_nnx(Plain)
    batch = {"x": jnp.ones((2, 16)), "y": jnp.zeros((2, 1))}
    variables = wrapped.init(KEYS, batch, is_training_property=False)
    said = printed(lambda: wrapped.apply(variables, batch, is_training_property=False))
    assert said == ["No rngs found in scope."]


def test_printed_is_empty_for_what_prints_nothing():
    assert printed(lambda: jnp.zeros(1)) == []
