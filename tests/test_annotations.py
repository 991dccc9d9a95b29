"""What the chapter *annotations* only shows: types against NumPy's own hierarchy."""

import hypothesis.strategies as st
import jax.numpy as jnp
import kauldron.typing as kdt
import numpy as np
import pytest
from hypothesis import given, settings
from kauldron import ktyping as kt

from snippets.annotations import (
    accepted,
    draw_accepted,
    grid,
    inputs,
    loss_of,
    one_of_each,
    runs,
    takes,
)

sizes = st.integers(1, 4)
shapes = st.lists(sizes, max_size=4).map(tuple)


@pytest.mark.parametrize("system", [kdt, kt], ids=["typing", "ktyping"])
@pytest.mark.parametrize(
    ("name", "parent"),
    [
        ("Num", np.number),
        ("Float", np.floating),
        ("Complex", np.complexfloating),
        ("Bool", np.bool_),
        ("UInt8", np.uint8),
        ("UInt32", np.uint32),
        ("Float32", np.float32),
        ("Complex64", np.complex64),
    ],
)
def test_a_name_takes_what_stands_below_it(system, name, parent):
    expected = [
        dtype
        for dtype, array in one_of_each().items()
        if jnp.issubdtype(array.dtype, parent)
    ]
    assert expected and accepted(getattr(system, name)) == expected


def test_the_integers_are_cut_otherwise_in_each_system():
    assert accepted(kdt.Integer) == accepted(kt.Int) == accepted(kt.SInt | kt.UInt)
    assert accepted(kdt.Int) == accepted(kt.SInt)


@given(shape=shapes, axes=st.lists(st.sampled_from("abc"), max_size=4))
@settings(max_examples=60, deadline=None)
def test_a_repeated_axis_has_one_size(shape, axes):
    bound = {}
    fits = len(shape) == len(axes) and all(
        bound.setdefault(axis, size) == size
        for axis, size in zip(axes, shape, strict=True)
    )
    text = " ".join(axes)
    assert takes(kdt.Array[text], np.zeros(shape)) == fits
    assert takes(kt.Array[text], np.zeros(shape), kt) == fits
    assert takes(kt.Shape[text], shape, kt) == fits


# Few examples: `Shape` and `Dim` read the whole stack, which is deep here.
@pytest.mark.parametrize("other", [(2, 3), (3, 2), (2,), (2, 3, 1)])
def test_a_size_is_set_as_if_an_array_had_come(other):
    @kdt.typechecked
    def both(x):
        kdt.check_type(x, kdt.Array["a b"])
        kdt.set_shape("a b", other)
        return kdt.Memo.from_current_context().single

    if other == (2, 3):
        assert both(np.zeros((2, 3))) == {"a": 2, "b": 3}
    else:
        with pytest.raises(kdt.TypeCheckError):
            both(np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("spec", "value"), [("h*w", 15), ("h//2+1", 3), ("h+w", 8), ("max(h,w)", 5)]
)
def test_sizes_are_calculated_as_python_does(spec, value):
    @kdt.typechecked
    def calculated(x: kdt.Float["h w"]):
        return kdt.Dim(spec), kdt.Shape(f"{spec} h")

    assert calculated(np.zeros((5, 3))) == (value, (value, 5))


def test_what_a_memo_says_is_what_was_bound():
    @kdt.typechecked
    def seen(x: kdt.Float["*b n"], y: kdt.Float["n"]):
        return kdt.Memo.from_current_context()

    assert seen(np.ones((2, 4, 3)), np.ones(3)) == kdt.Memo({"n": 3}, {"b": (2, 4)})
    with pytest.raises(kdt.TypeCheckError) as caught:
        seen(np.ones((2, 4, 3)), np.ones(5))
    assert caught.value.memo.single == {"n": 3}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("image", np.zeros((2, 4, 4, 4), np.uint8)),
        ("label", np.zeros(2)),
        ("mask", np.ones(3, bool)),
        ("key", 0),
        ("rate", 0.1),
    ],
)
def test_each_argument_of_the_example_is_held(name, value):
    loss = loss_of(**inputs())
    assert loss.shape == () and loss.dtype == jnp.float32
    with pytest.raises(kdt.TypeCheckError, match=f'argument "{name}"'):
        loss_of(**inputs() | {name: value})


def test_the_example_counts_the_rows_of_its_mask_only():
    noisy = inputs() | {"label": np.array([0, 9])}
    assert loss_of(**noisy) == loss_of(**inputs())


@given(flags=st.lists(st.booleans(), max_size=20))
def test_runs_are_the_flags(flags):
    places = [place for first, n in runs(flags) for place in range(first, first + n)]
    assert places == [place for place, flag in enumerate(flags) if flag]


def test_a_grid_tells_a_refusal_from_a_failing_check():
    text = grid({"1": 1, "'a'": "a"}, kt, int=kt.ScalarInt, str=str)
    rows = [line.split() for line in text.splitlines()]
    assert rows == [["int", "str"], ["1", "yes", "-"], ["'a'", "fails", "yes"]]


def test_the_picture_has_a_bar_for_what_is_taken():
    kinds = {"Float": kdt.Float, "Int": kdt.Int, "Complex": kdt.Complex}
    picture = draw_accepted(kinds)
    assert repr(picture).splitlines() == [
        f"{name}: {' '.join(accepted(kind))}" for name, kind in kinds.items()
    ]
    dtypes = list(one_of_each())
    bars = [bar for group in picture.figure.axes[0].containers for bar in group]
    drawn = {
        round(bar.get_y() + bar.get_height() / 2): [
            dtype
            for place, dtype in enumerate(dtypes)
            if bar.get_x() < place < bar.get_x() + bar.get_width()
        ]
        for bar in bars
    }
    assert drawn == dict(enumerate(accepted(kind) for kind in kinds.values()))
