"""What the chapter *konfig* only shows: round trips of any chain, diffs, merges."""

import json

import hypothesis.strategies as st
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from kauldron import konfig

from snippets.konfig import diff, leaves, load, one_update, save

with konfig.imports():
    import optax as noted

# Every transformation as its name, positional arguments and keyword arguments, so
# that the config and the real object are made from the same words.
rates = st.floats(1e-5, 1.0)
shares = st.floats(0.5, 0.999)
transformations = st.one_of(
    st.tuples(st.just("clip_by_global_norm"), st.tuples(rates), st.just({})),
    st.tuples(st.just("clip"), st.tuples(rates), st.just({})),
    st.tuples(st.just("scale"), st.tuples(rates), st.just({})),
    st.tuples(st.just("identity"), st.just(()), st.just({})),
    st.tuples(st.just("add_decayed_weights"), st.tuples(rates), st.just({})),
    st.tuples(
        st.just("scale_by_adam"),
        st.just(()),
        st.fixed_dictionaries(
            {},
            optional={
                "b1": shares,
                "b2": shares,
                "nesterov": st.booleans(),
            },
        ),
    ),
    st.tuples(
        st.just("trace"),
        st.tuples(shares),
        st.fixed_dictionaries({}, optional={"nesterov": st.booleans()}),
    ),
    st.tuples(
        st.just("scale_by_rms"),
        st.just(()),
        st.fixed_dictionaries({}, optional={"decay": shares}),
    ),
    st.tuples(st.just("scale_by_learning_rate"), st.tuples(rates), st.just({})),
)
chains = st.lists(transformations, min_size=1, max_size=5)


def build(chain, module):
    """Make a chain with the real optax, or with its stand-in."""
    parts = [getattr(module, name)(*args, **kwargs) for name, args, kwargs in chain]
    return module.chain(*parts)


@given(chain=chains, seed=st.integers(0, 2**16))
@settings(max_examples=40, deadline=None)
def test_a_chain_survives_json_and_gives_the_same_update(chain, seed):
    cfg = build(chain, noted)
    back = konfig.ConfigDict(json.loads(cfg.to_json()))
    assert back == cfg
    assert back.to_json() == cfg.to_json()
    gradient = np.random.default_rng(seed).normal(size=7).astype(np.float32)
    np.testing.assert_array_equal(
        one_update(konfig.resolve(back), gradient),
        one_update(build(chain, optax), gradient),
    )


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1000, 1000)
    | st.floats(-10, 10)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.from_regex(r"[a-z]{1,5}", fullmatch=True), inner, max_size=3
        )
    ),
    max_leaves=8,
)
configs = st.dictionaries(
    st.from_regex(r"[a-z]{1,5}", fullmatch=True), json_values, max_size=4
)


@given(values=configs)
@settings(max_examples=60, deadline=None)
def test_a_config_on_disk_comes_back(values, tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "experiment.json"
    cfg = konfig.ConfigDict(values)
    save(cfg, path)
    assert load(path).to_json() == cfg.to_json()
    assert diff(cfg, load(path)) == {}


@given(values=configs, edited=st.integers())
@settings(max_examples=60, deadline=None)
def test_a_diff_names_exactly_the_edit(values, edited):
    old = konfig.ConfigDict({"rest": values, "edited": 0})
    new = konfig.ConfigDict({"rest": values, "edited": edited})
    assert diff(old, new) == ({} if edited == 0 else {"edited": (0, edited)})


def test_a_diff_tells_a_missing_value_from_none():
    empty, none = konfig.ConfigDict({}), konfig.ConfigDict({"a": None})
    assert diff(empty, none) == {"a": ("(absent)", None)}
    assert diff(none, empty) == {"a": (None, "(absent)")}


@pytest.mark.parametrize("pair", [(1, True), (1, 1.0), (0, False), ("1", 1)])
def test_a_diff_tells_types_apart(pair):
    old, new = (konfig.ConfigDict({"a": value}) for value in pair)
    assert diff(old, new) == {"a": pair}


def test_leaves_follow_references():
    cfg = konfig.ConfigDict({"a": 1})
    cfg.b = cfg.ref.a
    assert leaves(cfg) == {"a": 1, "b": 1}


def test_merging_leaves_the_operands_alone():
    base = konfig.ConfigDict({"o": noted.adam(learning_rate=0.1), "n": 1})
    before = base.to_json()
    merged = base | {"o": {"learning_rate": 0.2}, "n": 2}
    assert base.to_json() == before
    assert (merged.o.learning_rate, merged.n) == (0.2, 2)


def test_merging_another_call_keeps_old_arguments():
    merged = konfig.ConfigDict({"o": noted.adam(0.1, nesterov=True)}) | {
        "o": noted.sgd(0.2)
    }
    assert dict(merged.o) == {"__qualname__": "optax:sgd", "0": 0.2, "nesterov": True}


@pytest.mark.parametrize("freeze", [True, False])
def test_resolving_freezes_containers_unless_told(freeze):
    resolved = konfig.resolve(
        konfig.ConfigDict({"a": [1], "b": {"c": 2}}), freeze=freeze
    )
    assert isinstance(resolved["a"], tuple if freeze else list)
    if freeze:
        with pytest.raises(TypeError):
            resolved["b"]["c"] = 3
    else:
        resolved["b"]["c"] = 3
