"""What the chapter *loss-and-metric* only shows: merging any parts equals the whole."""

import functools
import itertools
import math

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from kauldron import kd

from snippets.experiment import LogCosh, WithinTolerance, log_cosh
from snippets.loss_and_metric import (
    Errors,
    example_rows,
    plain_log_cosh,
    pooled_and_averaged,
    report,
)

# Batches of any sizes, of which some are short.
sizes = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def batches(sizes, seed):
    rng = np.random.default_rng(seed)
    for size in sizes:
        yield {
            "preds": rng.normal(size=(size, 3)).astype(np.float32),
            "targets": rng.normal(size=(size, 3)).astype(np.float32),
        }


def whole(parts):
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def merge(states):
    return functools.reduce(lambda a, b: a.merge(b), states)


@given(sizes=sizes, seed=st.integers(0, 99), order=st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_merged_states_are_the_metric_of_all_rows_in_any_order(sizes, seed, order):
    metric = WithinTolerance(tol=0.5)
    parts = list(batches(sizes, seed))
    states = [metric.get_state(**part) for part in parts]
    expected = metric.get_state(**whole(parts)).compute()
    assert merge(states).compute() == expected
    order.shuffle(states)
    assert merge(states).compute() == expected
    near = abs(whole(parts)["preds"] - whole(parts)["targets"]) <= 0.5
    assert expected == pytest.approx(near.mean())


@given(
    sizes=st.lists(st.integers(1, 9), min_size=3, max_size=3), seed=st.integers(0, 99)
)
@settings(max_examples=20, deadline=None)
def test_merging_is_associative_and_commutative(sizes, seed):
    metric = WithinTolerance(tol=0.5)
    a, b, c = (metric.get_state(**part) for part in batches(sizes, seed))
    left, right = a.merge(b).merge(c), a.merge(b.merge(c))
    assert (left.near, left.total) == (right.near, right.total)
    one, other = a.merge(b), b.merge(a)
    assert (one.near, one.total) == (other.near, other.total)


@given(sizes=sizes, seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_the_loss_merges_as_well(sizes, seed):
    parts = list(batches(sizes, seed))
    merged = merge([LogCosh().get_state(**part) for part in parts])
    np.testing.assert_allclose(merged.compute(), LogCosh()(**whole(parts)), rtol=1e-5)


def test_the_mean_of_rates_is_wrong_unless_all_batches_are_of_one_size():
    rows, metric = example_rows(), WithinTolerance(tol=0.5)

    def rates(*bounds):
        return [
            metric.get_state(**{n: rows[n][a:b] for n in rows}).compute()
            for a, b in itertools.pairwise(bounds)
        ]

    pooled = metric.get_state(**rows).compute()
    assert np.mean(rates(0, 4, 8)) == pooled
    assert np.mean(rates(0, 6, 8)) != pooled


@given(error=st.floats(-80, 80, width=32))
@settings(max_examples=200, deadline=None)
def test_the_stable_form_agrees_where_the_plain_one_is_finite(error):
    expected = math.log(math.cosh(error))
    assert math.isfinite(expected)
    assert float(log_cosh(jnp.float32(error))) == pytest.approx(
        expected, rel=1e-5, abs=2e-7
    )
    assert float(plain_log_cosh(jnp.float32(error))) == pytest.approx(
        expected, rel=1e-5, abs=2e-7
    )


@given(error=st.floats(90, 2.0**100, width=32) | st.floats(-(2.0**100), -90, width=32))
@settings(max_examples=50, deadline=None)
def test_far_out_only_the_stable_form_is_finite(error):
    assert not math.isfinite(plain_log_cosh(jnp.float32(error)))
    assert math.isfinite(log_cosh(jnp.float32(error)))
    assert jax.grad(log_cosh)(jnp.float32(error)) == math.copysign(1, error)


@given(
    keep=st.lists(st.booleans(), min_size=8, max_size=8),
    by=st.sampled_from(["mask", "values"]),
)
@settings(max_examples=30, deadline=None)
def test_a_masked_loss_is_the_sum_over_what_counts(keep, by):
    rows = example_rows()
    mask = np.array(keep, np.float32)[:, None]
    values = np.log(np.cosh(rows["preds"] - rows["targets"])) * mask
    count = values.size if by == "values" else 4 * mask.sum()
    expected = values.sum() / count if count else 0.0
    loss = LogCosh(normalize_by=by)(**rows, mask=mask)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_each_kind_of_field_merges_as_its_name_says():
    parts = list(batches([2, 3], seed=0))
    states = [Errors().get_state(**{n: p[n][:, 0] for n in p}) for p in parts]
    errors = np.concatenate([abs(p["preds"] - p["targets"])[:, 0] for p in parts])
    merged = merge(states).compute()
    np.testing.assert_allclose(merged.total, errors.sum(), rtol=1e-6)
    np.testing.assert_array_equal(merged.smallest, errors.min())
    np.testing.assert_array_equal(merged.largest, errors.max())
    np.testing.assert_array_equal(merged.every, errors)
    np.testing.assert_array_equal(merged.first, errors[:3])


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (float, "accepted"),
        (lambda x: np.asarray(x), "accepted"),
        (lambda x: {"a": float(x)}, "accepted"),
        (lambda x: None, "accepted"),
        (lambda x: x / 2, "ValueError: Unknown type: <class 'numpy.float32'>"),
        (
            lambda x: np.stack([x, x]),
            "ValueError: Expected scalar shape, saw shape: (2,).",
        ),
    ],
)
def test_what_compute_may_return(result, answer):
    assert report(result) == answer


def test_a_share_made_of_counts_is_accepted():
    state = WithinTolerance(tol=0.5).get_state(**example_rows())
    assert report(lambda x: state.finalize().compute()) == "accepted"


def test_the_picture_shows_rates_mean_and_merged():
    rows, metric = example_rows(), WithinTolerance(tol=0.5)
    parts = [
        metric.get_state(**{n: rows[n][s] for n in rows})
        for s in (slice(6), slice(6, 8))
    ]
    bars = pooled_and_averaged(parts).figure.axes[0].patches
    assert [bar.get_height() for bar in bars] == [0.375, 0.625, 0.5, 0.4375]


def test_the_figures_of_the_page():
    rows = example_rows()
    assert f"{LogCosh()(**rows):.4f}" == "0.5741"
    assert f"{kd.losses.L2()(**rows):.4f}" == "1.8719"
