"""What the chapter *ktyping* only shows: both checkers, over any shapes."""

import re
import subprocess
import sys

import hypothesis.strategies as st
import jax
import kauldron.typing as kdt
import numpy as np
import pytest
import typeguard
from hypothesis import assume, given, settings
from kauldron import ktyping as kt
from kauldron.ktyping import config

from snippets.ktyping import (
    Cloud,
    clash,
    complaint,
    draw_anatomy,
    parts,
    placeless,
    project,
    project_kt,
    projection_variants,
    side_by_side,
    verdict,
    wrapped,
)

sizes = st.integers(1, 4)
shapes = st.lists(sizes, max_size=3).map(tuple)
SYSTEMS = {"kauldron.typing": kdt, "kauldron.ktyping": kt}
PROJECTIONS = {"kauldron.typing": project, "kauldron.ktyping": project_kt}


@pytest.fixture(autouse=True)
def checking_stays_on():
    yield
    left, enabled = dict(config.CONFIG_OVERRIDES), kt.CONFIG.typechecking_enabled
    config.CONFIG_OVERRIDES.clear()
    assert not left and enabled and kdt.type_check.TYPECHECKING_ENABLED


@pytest.mark.parametrize("name", PROJECTIONS)
@given(batch=shapes, n=sizes, c=sizes, d=sizes, seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_consistent_shapes_pass_and_give_the_product(name, batch, n, c, d, seed):
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(*batch, n, c)), rng.normal(size=(c, d))
    result = PROJECTIONS[name](x, w)
    assert result.shape == (*batch, n, d)
    np.testing.assert_array_equal(result, x @ w)


@given(batch=shapes, n=sizes, c=sizes, wrong=sizes, d=sizes)
@settings(max_examples=60, deadline=None)
def test_an_inconsistent_inner_axis_is_refused_with_its_bound_size(
    batch, n, c, wrong, d
):
    assume(c != wrong)
    x, w = np.zeros((*batch, n, c)), np.zeros((wrong, d))
    old = complaint(project, x, w)
    assert clash(old) == {"c": (c, wrong)}
    assert f"'c': {c}" in parts(old)["Inferred Dims"]
    assert parts(old)["Function"] == "Function: project in …"
    assert f"f64[{wrong} {d}]" in parts(old)["Inputs"]
    new = complaint(project_kt, x, w)
    assert re.search(rf"\bc: {c}\b", parts(new)["Dim Assignments"])
    assert f"has shape ({wrong}, {d})" in parts(new)["what"]
    assert re.search(r"^> w: ", parts(new)["Arguments"], re.M)


@given(x=shapes, w=shapes)
@settings(max_examples=150, deadline=None)
def test_both_systems_agree_on_the_projection(x, w):
    pair = ("*b n c", x), ("c d", w)
    expected = len(x) >= 2 and len(w) == 2 and x[-1] == w[0]
    for system in SYSTEMS.values():
        assert verdict(system, *pair) == ("fits" if expected else "refused")


COMMON = ("b c", "c b", "*b c", "... c", "_ c", "b 3", "#b c", "*b", "", "b b")


@given(
    axes=st.tuples(st.sampled_from(COMMON), st.sampled_from(COMMON)),
    given_shapes=st.tuples(shapes, shapes),
)
@settings(max_examples=300, deadline=None)
def test_both_systems_agree_on_the_axes_that_they_share(axes, given_shapes):
    # A name with a star and one without are two names to kauldron.typing, and one to
    # kauldron.ktyping; see the test below.
    names = " ".join(axes).split()
    assume(not ("*b" in names and {"b", "#b"} & set(names)))
    pair = tuple(zip(axes, given_shapes, strict=True))
    assert verdict(kdt, *pair) == verdict(kt, *pair)


def test_a_starred_name_is_another_name_only_to_kauldron_typing():
    pair = ("*b c", (2, 5)), ("b", (3,))
    assert verdict(kdt, *pair) == "fits"
    assert verdict(kt, *pair) == "refused"


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
@given(first=sizes, second=sizes)
@settings(max_examples=40, deadline=None)
def test_a_broadcast_axis_is_the_same_size_or_one(system, first, second):
    fits = first == second or 1 in (first, second)
    pair = ("#n", (first,)), ("#n", (second,))
    assert verdict(system, *pair) == ("fits" if fits else "refused")


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
@given(h=sizes, w=sizes, size=st.integers(1, 16))
@settings(max_examples=40, deadline=None)
def test_sizes_are_calculated(system, h, w, size):
    for axes, expected in {"h*w": h * w, "h+w": h + w, "h//w+1": h // w + 1}.items():
        found = verdict(system, ("h w", (h, w)), (axes, (size,)))
        assert found == ("fits" if size == expected else "refused")


@given(n=sizes, size=sizes)
@settings(max_examples=40, deadline=None)
def test_an_unknown_name_is_solved_for_by_ktyping_only(n, size):
    pair = ("n+1", (n + 1,)), ("n", (size,))
    assert verdict(kt, *pair) == ("fits" if n == size else "refused")
    assert verdict(kdt, *pair) == "unreadable"


@given(size=st.integers(1, 5))
@settings(max_examples=5, deadline=None)
def test_a_bar_is_a_choice_to_one_and_arithmetic_to_the_other(size):
    pair = ("2|1", (size,)), ("...", ())
    assert verdict(kt, *pair) == ("fits" if size in (1, 2) else "refused")
    assert verdict(kdt, *pair) == ("fits" if size == 2 | 1 else "refused")


def wrong_return(system):
    def function(x):
        return x[:1]

    function.__annotations__ = dict.fromkeys(("x", "return"), system.Float["n"])
    return system.typechecked(function)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_a_return_value_is_refused_for_its_shape_alone(system):
    function = wrong_return(system)
    assert function(np.ones(1)).shape == (1,)
    message = complaint(function, np.ones(3))
    assert "return value" in parts(message)["what"] and "Return" in parts(message)


@given(names=st.permutations(["x", "w"]))
@settings(max_examples=2, deadline=None)
def test_arguments_are_checked_in_the_order_of_the_signature(names):
    arrays = {"x": np.zeros((2, 16, 8)), "w": np.zeros((5, 32))}
    ordered = {name: arrays[name] for name in names}
    for function in PROJECTIONS.values():
        expected = complaint(function, *arrays.values())
        assert complaint(lambda f=function: f(**ordered)) == expected


def test_switched_off_and_on_again():
    x, w = np.ones((3, 8)), np.ones((8, 2), int)
    with kt.Config(typechecking_enabled=False):
        assert project_kt(x, w).shape == (3, 2)
    assert project(x, w, _typecheck=False).shape == (3, 2)
    for function in PROJECTIONS.values():
        complaint(function, x, w)


def test_switched_off_for_one_module():
    x, w = np.ones((3, 8)), np.ones((8, 2), int)
    for pattern, off in ((r"snippets\.ktyping", True), (r"elsewhere", False)):
        override = kt.add_config_override(
            pattern, kt.Config(typechecking_enabled=False)
        )
        if off:
            project_kt(x, w)
        else:
            complaint(project_kt, x, w)
        kt.remove_config_override(override)


def test_an_error_inside_the_switch_leaves_checking_off():
    x, w = np.ones((3, 8)), np.ones((8, 2), int)
    with pytest.raises(ZeroDivisionError), kt.Config(typechecking_enabled=False):
        _ = 1 / 0
    assert project_kt(x, w).shape == (3, 2)
    config.CONFIG_OVERRIDES.clear()
    complaint(project_kt, x, w)


def test_no_active_scope_is_for_the_undecorated_only():
    def check(x):
        return kt.check_type(x, kt.Float["b"])

    with pytest.raises(kt.NoActiveScopeError, match="No active scope found"):
        check(np.ones(3))
    assert kt.typechecked(check)(np.ones(3)).shape == (3,)


def test_mixing_is_refused_one_way_and_unnoticed_the_other():
    def mixed(annotation):
        def function(x, y):
            pass

        function.__annotations__ = {"x": annotation, "y": annotation}
        return function

    same, other = (np.ones(3), np.ones(3)), (np.ones(3), np.ones(4))
    with pytest.raises(RuntimeError, match="Mixing of ktyping and jaxtyping detected"):
        kt.typechecked(mixed(kdt.Float["n"]))(*same)
    kdt.typechecked(mixed(kt.Float["n"]))(*other)
    for system in SYSTEMS.values():
        system.typechecked(mixed(system.Float["n"]))(*same)
        complaint(system.typechecked(mixed(system.Float["n"])), *other)


@given(deciding=st.sampled_from([(2,), (2, 3), None]))
@settings(max_examples=3, deadline=None)
def test_a_dimension_is_ambiguous_until_an_argument_decides(deciding):
    @kt.typechecked
    def rows(x: kt.Float["*b"] | kt.Float["*b n"], y: kt.Float["*b"] | None):
        return kt.dim["*b"]

    if deciding is None:
        with pytest.raises(kt.AmbiguousDimensionError, match="'b' is ambiguous"):
            rows(np.ones((2, 3)), None)
    else:
        assert rows(np.ones((2, 3)), np.ones(deciding)) == deciding


@given(points=sizes, colours=sizes)
@settings(max_examples=30, deadline=None)
def test_a_dataclass_checks_its_fields(points, colours):
    def make():
        return Cloud(np.ones((points, 3)), np.ones((colours, 3), np.uint8))

    if points == colours:
        assert make().position.shape == (points, 3)
    else:
        assert "'colour'" in complaint(make)


def test_a_checked_tree_is_checked_when_jax_rebuilds_it():
    cloud = Cloud(np.ones((2, 3)), np.ones((2, 3), np.uint8))
    assert jax.tree.map(lambda leaf: leaf, cloud).position.shape == (2, 3)
    complaint(jax.tree.map, np.shape, cloud)


@pytest.mark.parametrize("how", [["-c"], ["-m", "IPython", "--quick", "-c"]])
def test_a_class_without_a_file_cannot_be_decorated(how):
    code = """
import dataclasses
from kauldron import ktyping as kt
try:
    kt.typechecked(dataclasses.make_dataclass("Points", [("x", kt.Float["n"])]))
except OSError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, *how, code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip().splitlines()[-1] == "source code not available"


@given(
    lines=st.lists(st.text("ab c", max_size=30), max_size=4), width=st.integers(8, 20)
)
@settings(max_examples=50, deadline=None)
def test_wrapping_loses_no_word(lines, width):
    text = "\n".join(lines)
    assert "".join("".join(wrapped(text, width)).split()) == "".join(text.split())
    assert all(len(line) <= width for line in wrapped(text, width))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Function: f in /a path/with spaces/x.py:12", "Function: f in …"),
        ("Origin: function 'f' at <unknown>:None", "Origin: function 'f' at …"),
        ("  self = <M object at 0x7fdbacc784d0>", "  self = <M object at …>"),
        (
            "at function 'f' at /x/y.py:3 for x: Float",
            "at function 'f' at … for x: Float",
        ),
        ("value at path ['b'][0] of x", "value at path ['b'][0] of x"),
    ],
)
def test_places_are_left_out_and_nothing_else(text, kept):
    assert placeless(text) == kept


@given(c=st.integers(1, 40), wrong=st.integers(1, 40), n=sizes)
@settings(max_examples=10, deadline=None)
def test_the_picture_shows_the_message_and_its_clash(c, wrong, n):
    assume(c != wrong)
    message = complaint(project, np.zeros((n, c)), np.zeros((wrong, 2)))
    picture = draw_anatomy(message)
    axes = picture.figure.axes[0]
    drawn = [text.get_text() for text in axes.texts]
    assert set(wrapped(message, 40)) <= {*drawn, ""}
    assert drawn[-1] == f"So: c is {c}, and {wrong} came."
    marked = []
    for box in axes.patches:
        line, first = drawn[round(box.get_y())], round(box.get_x())
        marked.append(line[first : first + round(box.get_width())])
    assert marked == ["c", str(wrong), f"'c': {c}"]


def test_side_by_side_keeps_both_messages():
    arrays = np.zeros((2, 16, 8)), np.zeros((5, 32))
    left, right = complaint(project, *arrays), complaint(project_kt, *arrays)
    table = side_by_side(left, right)
    words = sorted("".join((left + right).split()))
    titles = sorted("kauldron.typingkauldron.ktyping")
    assert sorted("".join(table.split())) == sorted(words + titles)


def test_every_variant_of_the_projection_is_the_same_function():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 16, 8)).astype(np.float32)
    w = rng.normal(size=(8, 32)).astype(np.float32)
    variants = projection_variants()
    for name, function in variants.items():
        np.testing.assert_allclose(function(x, w), x @ w, rtol=1e-5, atol=1e-5)
        if not name.startswith("unchecked"):
            with pytest.raises(typeguard.TypeCheckError):
                function(x, w[:5])
