"""Splits: balanced, seeded, disjoint, complete, and blind to the labels they hide."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfssl.data.source import Source
from tfssl.data.splits import split
from tfssl.errors import InputError


def make_source(label, label_test=()):
    """Inputs that hold their own row number."""
    label, label_test = np.asarray(label), np.asarray(label_test, dtype=int)
    num_classes = int(label.max()) + 1
    return Source(
        name="test",
        x=np.arange(len(label), dtype=np.float32)[:, np.newaxis],
        label=label,
        x_test=np.arange(len(label_test), dtype=np.float32)[:, np.newaxis] + 1e6,
        label_test=label_test,
        class_names=tuple(str(k) for k in range(num_classes)),
        levels=None,
    )


@settings(max_examples=60, deadline=None)
@given(
    num_classes=st.integers(2, 6),
    per_class=st.integers(40, 50),  # enough for any draw of the other parts
    num_labelled=st.integers(6, 40),
    num_validation=st.integers(0, 10),
    num_test=st.integers(0, 10),
    seed=st.integers(0, 1000),
)
def test_parts_are_balanced_disjoint_and_complete(
    num_classes, per_class, num_labelled, num_validation, num_test, seed
):
    source = make_source(np.repeat(np.arange(num_classes), per_class))
    parts = split(source, num_labelled, num_validation, num_test, seed)
    counts = np.bincount(parts.label, minlength=num_classes)
    assert counts.sum() == num_labelled
    assert counts.max() - counts.min() <= 1
    everything = np.concatenate(list(parts.rows.values()))
    np.testing.assert_array_equal(np.sort(everything), np.arange(len(source.x)))
    assert len(parts.x_validation) == num_validation
    assert len(parts.x_test) == num_test
    np.testing.assert_array_equal(source.label[parts.rows["labelled"]], parts.label)
    np.testing.assert_array_equal(source.x[parts.rows["unlabelled"]], parts.x_unlabelled)


def test_the_seed_decides():
    source = make_source(np.repeat(np.arange(3), 50))
    first, same, other = (split(source, 9, 10, 20, seed) for seed in (1, 1, 2))
    for name in first.rows:
        np.testing.assert_array_equal(first.rows[name], same.rows[name])
        assert not np.array_equal(np.sort(first.rows[name]), np.sort(other.rows[name]))


def test_with_a_validation_seed_splits_differ_in_their_labels_only():
    source = make_source(np.arange(90) % 3)
    one, other = (split(source, 9, 20, 10, seed, validation_seed=0) for seed in (0, 1))
    for part in ("validation", "test"):
        np.testing.assert_array_equal(one.rows[part], other.rows[part])
        np.testing.assert_array_equal(one.rows[part], split(source, 9, 20, 10, 0).rows[part])
    np.testing.assert_array_equal(np.sort(one.x_train, axis=0), np.sort(other.x_train, axis=0))
    assert set(one.rows["labelled"]) != set(other.rows["labelled"])


def test_hidden_labels_cannot_reach_training():
    """Whatever the labels of unlabelled points say, every array but the test's stays the same."""
    source = make_source(np.repeat(np.arange(3), 50), label_test=[0, 1, 2])
    parts = split(source, 9, 10, 0, seed=0)
    assert "label_unlabelled" not in {field.name for field in dataclasses.fields(parts)}
    scrambled = source.label.copy()
    hidden = parts.rows["unlabelled"]
    scrambled[hidden] = -1
    again = split(dataclasses.replace(source, label=scrambled), "all", 0, 0, seed=0)
    kept = np.sort(np.concatenate([parts.rows["labelled"], parts.rows["validation"]]))
    np.testing.assert_array_equal(np.sort(again.rows["labelled"]), kept)
    np.testing.assert_array_equal(np.sort(again.rows["unlabelled"]), np.sort(hidden))


def test_unlabelled_points_of_sorted_data_come_in_random_order():
    source = make_source(np.repeat(np.arange(5), 200))
    rows = split(source, 10, 0, 0, seed=0).rows["unlabelled"]
    assert abs(np.corrcoef(rows, np.arange(len(rows)))[0, 1]) < 0.1


def test_points_without_a_label_are_only_ever_unlabelled():
    label = np.array([0, 1] * 10 + [-1] * 30)
    parts = split(make_source(label), "all", 4, 4, seed=0)
    assert set(range(20, 50)) == set(parts.rows["unlabelled"])
    assert len(parts.label) == 12


def test_own_test_points_are_used_and_those_without_a_label_left_out():
    source = make_source([0, 1] * 20, label_test=[1, -1, 0])
    parts = split(source, 4, 0, num_test=10, seed=0)
    np.testing.assert_array_equal(parts.label_test, [1, 0])
    np.testing.assert_array_equal(parts.x_test[:, 0], [1e6, 1e6 + 2])
    assert len(parts.x_unlabelled) == 36


def test_m1_learns_from_labelled_and_unlabelled_but_not_held_out_points():
    parts = split(make_source([0, 1] * 20), 4, 5, 6, seed=0)
    held_out = {*parts.rows["validation"], *parts.rows["test"]}
    assert set(parts.x_train[:, 0].astype(int)) == set(range(40)) - held_out


@pytest.mark.parametrize(
    ("label", "arguments", "message"),
    [
        ([0, 1] * 10, (1, 0, 0), "at least one per class"),
        ([0, 1] * 10, (21, 0, 0), "at most the labelled points there are"),
        ([0] * 18 + [1] * 2, (10, 0, 0), "every class must have as many labelled points"),
        ([0, 1] * 10, (4, 15, 5), "must leave labelled points to train on"),
        ([0, 2] * 10, ("all", 0, 0), r"without_label=\['1'\]"),
        ([0, 2] * 10, (10, 0, 0), r"without_label=\['1'\]"),
        ([0] * 18 + [1] * 2, (10, 0, 0), "'1': '2 of 5'"),
        ([0] * 20, ("all", 0, 0), "at least two classes"),
    ],
)
def test_impossible_splits_are_explained(label, arguments, message):
    with pytest.raises(InputError, match=message):
        split(make_source(label), *arguments, seed=0)
