"""What the chapter *refs* only shows: schedules equal the formula, at any length."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from kauldron import konfig

from snippets.refs import MOMENTS, config, curves, formula, rates, table


@given(steps=st.integers(102, 5000), warmup=st.integers(1, 100))
@settings(max_examples=60, deadline=None)
def test_the_schedule_is_the_formula(steps, warmup):
    cfg = config(7)
    cfg.num_train_steps = steps
    cfg.schedule.warmup_steps = warmup
    moments = (0.0, 0.01, *MOMENTS, 1.0)
    expected = [
        formula(round(steps * m), decay_steps=steps, warmup_steps=warmup)
        for m in moments
    ]
    # optax calculates in float32.
    np.testing.assert_allclose(rates(cfg, moments), expected, rtol=2e-5, atol=2e-9)


@given(written=st.integers(102, 5000), run=st.integers(102, 5000))
@settings(max_examples=40, deadline=None)
def test_a_frozen_schedule_is_the_formula_of_the_run_it_was_written_for(written, run):
    frozen = config(written)
    frozen.schedule.decay_steps = frozen.num_train_steps  # the value, not the reference
    frozen.num_train_steps = run
    expected = [formula(round(run * m), decay_steps=written) for m in MOMENTS]
    np.testing.assert_allclose(rates(frozen), expected, rtol=2e-5, atol=2e-9)


def test_the_figures_of_the_page():
    short = config(1000)
    short.num_train_steps = 200
    text = table(long=config(1000), short=short)
    assert text.splitlines()[1].split()[1:] == ["1.000e-03", "5.868e-04", "3.015e-05"]
    assert text.splitlines()[2].split()[1:] == ["2.000e-04", "1.000e-03", "9.549e-05"]


def test_the_picture_shows_what_the_schedules_give():
    long, short = config(1000), config(200)
    frozen = config(1000)
    frozen.schedule.decay_steps = 1000
    frozen.num_train_steps = 200
    picture = curves(long, short, frozen)
    lines = picture.figure.axes[0].get_lines()
    for line, cfg in zip(lines, (long, short, frozen), strict=True):
        share = np.asarray(line.get_xdata()) / 100
        np.testing.assert_allclose(line.get_ydata(), rates(cfg, tuple(share)))
    assert repr(picture) == table(long=long, short=short, frozen=frozen)


def test_a_schedule_shorter_than_its_warmup_is_refused():
    with pytest.raises(ValueError, match="decay_steps"):
        konfig.resolve(config(100))


OPERATIONS = {
    "+": lambda n: n + 3,
    "-": lambda n: n - 3,
    "*": lambda n: n * 3,
    "//": lambda n: n // 3,
    "%": lambda n: n % 3,
    "neg": lambda n: -n,
    ">": lambda n: n > 3,
    "==": lambda n: n == 3,
    "/": lambda n: n / 3,
    "*.": lambda n: n * 0.5,
}


@pytest.mark.parametrize("name", OPERATIONS)
@given(first=st.integers(-50, 50), later=st.integers(-50, 50))
@settings(max_examples=20, deadline=None)
def test_an_expression_follows_its_reference(name, first, later):
    cfg = konfig.ConfigDict({"n": first})
    cfg.derived = OPERATIONS[name](cfg.ref.n)
    assert cfg.derived == OPERATIONS[name](first)
    cfg.n = later
    assert cfg.derived == OPERATIONS[name](later)
    assert konfig.resolve(cfg)["derived"] == OPERATIONS[name](later)
