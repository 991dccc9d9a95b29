"""What the chapter *kontext* only shows: every form of path, on any nesting."""

import types

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from kauldron import kontext

from snippets.kontext import Agreement, Mean, context, draw_path, evaluate

names = st.from_regex(r"[a-z_]{1,6}", fullmatch=True).filter(
    lambda s: not hasattr(dict, s)
)
odd_names = st.text("abc -.'[]", min_size=1, max_size=4)
steps = st.one_of(
    st.tuples(st.just("key"), names),
    st.tuples(st.just("attribute"), names),
    st.tuples(st.just("item"), st.integers(0, 3)),
    st.tuples(st.just("odd key"), odd_names),
)


def nest(way, leaf):
    """Return a value that holds `leaf` at the end of the way."""
    for kind, name in reversed(way):
        if kind == "attribute":
            leaf = types.SimpleNamespace(**{name: leaf})
        elif kind == "item":
            leaf = [None] * name + [leaf]
        else:
            leaf = {name: leaf}
    return leaf


def spell(way):
    """Return the path of the way, as a user would write it."""
    text = "".join(
        f"[{name!r}]" if kind in ("item", "odd key") else f".{name}"
        for kind, name in way
    )
    return text.removeprefix(".")


@given(way=st.lists(steps, min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_a_path_reaches_through_any_nesting(way):
    leaf = object()
    tree = nest(way, leaf)
    assert kontext.get_by_path(tree, spell(way)) is leaf
    assert kontext.get_by_path(tree, tuple(name for _, name in way)) is leaf
    assert kontext.Path.from_str(spell(way)).get_from(tree) is leaf


@given(way=st.lists(steps, min_size=1, max_size=5), at=st.integers(0, 4))
@settings(max_examples=100, deadline=None)
def test_a_wrong_step_raises_or_gives_the_default(way, at):
    at = min(at, len(way) - 1)
    wrong = [*way[:at], ("key", "no_such_step"), *way[at + 1 :]]
    tree = nest(way, object())
    with pytest.raises(KeyError, match="no_such_step"):
        kontext.get_by_path(tree, spell(wrong))
    assert kontext.get_by_path(tree, spell(wrong), default="default") == "default"


writable = st.one_of(
    st.tuples(st.just("key"), names), st.tuples(st.just("item"), st.integers(0, 3))
)


@given(way=st.lists(writable, min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_what_is_set_is_read(way):
    tree = nest(way, "before")
    assert kontext.set_by_path(tree, spell(way), "after") == [spell(way)]
    assert kontext.get_by_path(tree, spell(way)) == "after"


slices = st.builds(
    slice, st.none() | st.integers(-4, 4), st.none() | st.integers(-4, 4)
)


@given(rows=slices, columns=slices)
@settings(max_examples=100, deadline=None)
def test_slices_are_numpys(rows, columns):
    array = np.arange(20).reshape(4, 5)
    spelt = ", ".join(
        f"{'' if s.start is None else s.start}:{'' if s.stop is None else s.stop}"
        for s in (rows, columns)
    )
    np.testing.assert_array_equal(
        kontext.get_by_path({"x": array}, f"x[{spelt}]"), array[rows, columns]
    )


leaves = st.dictionaries(
    names,
    st.integers() | st.lists(st.integers(), min_size=1, max_size=3),
    min_size=1,
    max_size=4,
)


@given(tree=st.dictionaries(names, leaves, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_every_flattened_path_leads_back(tree):
    for path, value in kontext.flatten_with_path(tree).items():
        assert kontext.get_by_path(tree, path) == value


@given(blocks=st.integers(1, 5))
@settings(max_examples=10, deadline=None)
def test_a_pattern_sets_each_place_and_no_other(blocks):
    tree = {
        "encoder": {f"block{n}": {"dropout": 0.1, "width": n} for n in range(blocks)},
        "dropout": 0.1,
    }
    changed = kontext.set_by_path(tree, "encoder.*.dropout", 0.5)
    assert changed == [f"encoder.block{n}.dropout" for n in range(blocks)]
    assert tree["dropout"] == 0.1
    assert [block["width"] for block in tree["encoder"].values()] == list(range(blocks))
    assert len(kontext.set_by_path(tree, "**.dropout", 0.0)) == blocks + 1


def test_the_metric_counts_rows():
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(50, 10)), rng.integers(10, size=50)
    right = sum(
        int(np.argmax(row)) == label for row, label in zip(logits, labels, strict=True)
    )
    metric = Agreement(logits="a.b[0]", labels="c")
    assert evaluate(metric, {"a": {"b": [logits]}, "c": labels}) == pytest.approx(
        right / 50
    )


def test_a_mask_counts_only_its_rows():
    ctx = context()
    ctx["batch"]["mask"] = np.array([False, False, True, True])
    masked = Agreement(logits="preds.logits", labels="batch.label", mask="batch.mask")
    assert evaluate(masked, ctx) == 0.5  # of the last two rows, one agrees


def test_the_picture_shows_every_part_of_the_context():
    drawn = [
        text.get_text()
        for text in draw_path(context(), "preds.aux[0].pos").figure.axes[0].texts
    ]
    for name in (
        "context",
        "batch",
        "image",
        "label",
        "preds",
        "logits",
        "aux",
        "[0]",
        "pos",
    ):
        assert any(text.startswith(name + "\n") for text in drawn), name


@pytest.mark.parametrize("path", ["batch..image", "batch.", "batch[", "batch[0"])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(Exception, match="Could not parse path"):
        kontext.get_by_path(context(), path)


inner = st.sampled_from("abc")
trees = st.recursive(
    st.dictionaries(st.sampled_from("xyz"), st.integers(), min_size=1, max_size=3),
    lambda below: st.dictionaries(inner, below, min_size=1, max_size=3),
    max_leaves=6,
)


@given(tree=trees, name=st.sampled_from("xyz"))
@settings(max_examples=100, deadline=None)
def test_two_stars_keep_what_ends_so_and_its_way(tree, name):
    flat = kontext.flatten_with_path(tree)
    fits = {path: x for path, x in flat.items() if path.split(".")[-1] == name}
    kept = kontext.filter_by_path(tree, f"**.{name}")
    if fits:
        assert kontext.flatten_with_path(kept) == fits
    else:
        assert type(kept) is object
    assert kontext.flatten_with_path(tree) == flat


@given(tree=trees, prefix=st.sampled_from("abc"))
@settings(max_examples=50, deadline=None)
def test_options_change_the_spelling_only(tree, prefix):
    flat = kontext.flatten_with_path(tree)
    prefixed = kontext.flatten_with_path(tree, prefix=prefix)
    assert prefixed == {f"{prefix}.{path}": x for path, x in flat.items()}
    slashes = kontext.flatten_with_path(tree, separator="/")
    assert slashes == {path.replace(".", "/"): x for path, x in flat.items()}


glob_steps = st.sampled_from(["*", "**", "a", "bc", "[0]", "['d-e']"])


@given(steps=st.lists(glob_steps, min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_a_pattern_is_spelt_as_it_was_read(steps):
    text = "".join(step if step[0] == "[" else f".{step}" for step in steps)
    pattern = kontext.GlobPath.from_str(text.removeprefix("."))
    assert kontext.GlobPath.from_str(str(pattern)) == pattern
    assert len(pattern) == len(steps)
    stars = [step in ("*", "**") for step in steps]
    before = stars.index(True) if any(stars) else len(steps)
    assert len(pattern.first_non_glob_parent) == before


def test_a_tree_of_keys_is_resolved_in_its_form():
    ctx = context()
    keys = {"a": ["batch.label", {"b": "preds.logits"}], "c": "batch.image"}
    found = kontext.resolve_from_keypaths(ctx, keys)
    assert found["a"][0] is ctx["batch"]["label"]
    assert found["a"][1]["b"] is ctx["preds"]["logits"]
    assert Mean(tensors=keys)(ctx)["a"] == [3.0, {"b": 0.1}]
    assert kontext.is_key_annotated(Mean) and not kontext.is_key_annotated(context)
    with pytest.raises(KeyError, match=r"'a\[1\]\.b'"):
        kontext.resolve_from_keypaths(ctx, {"a": ["batch.label", {"b": "nope"}]})


def test_a_star_writes_where_it_cannot_filter():
    tree = {"a": {"x": 1}, "b": {}}
    with pytest.raises(KeyError):
        kontext.filter_by_path(tree, "*.x")
    assert kontext.GlobPath.from_str("*.x").set_in(tree, 2) == ["a.x", "b.x"]
    assert tree == {"a": {"x": 2}, "b": {"x": 2}}
