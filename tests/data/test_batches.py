"""tf.data: nothing dropped, any N, pure order, no labels where there are none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfssl.data import batches
from tfssl.errors import InputError


def rows(dataset, steps):
    """The unlabelled rows of `steps` batches; each row of x holds its own number."""
    batches = [batch["unlabelled"].numpy()[:, 0] for batch in dataset.take(steps)]
    return np.concatenate(batches).astype(int)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 2**31 - 1))
def test_every_pass_is_a_permutation_whatever_the_sizes(count, batch_size, seed):
    x = np.arange(count, dtype=np.float32)[:, np.newaxis]
    steps = -(-3 * count // batch_size)
    seen = rows(batches.unlabelled(x, batch_size, seed), steps)[: 3 * count]
    for one_pass in seen.reshape(3, count):
        np.testing.assert_array_equal(np.sort(one_pass), np.arange(count))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 20))
def test_a_later_start_gives_the_same_batches(count, batch_size, start):
    x = np.arange(count, dtype=np.float32)[:, np.newaxis]
    whole = rows(batches.unlabelled(x, batch_size, 3), start + 4)
    later = rows(batches.unlabelled(x, batch_size, 3, start_step=start), 4)
    np.testing.assert_array_equal(whole[start * batch_size :], later)


def test_order_depends_on_the_seed_and_the_pass():
    x = np.arange(50, dtype=np.float32)[:, np.newaxis]
    first, second = rows(batches.unlabelled(x, 50, seed=0), 2).reshape(2, 50)
    other = rows(batches.unlabelled(x, 50, seed=1), 1)
    assert np.mean(first != second) > 0.8
    assert np.mean(first != other) > 0.8


def test_order_of_sorted_data_carries_no_label():
    """Data sorted by class: the class of a row must not depend on its place in the epoch."""
    label = np.repeat(np.arange(10), 200)
    x = np.arange(2000, dtype=np.float32)[:, np.newaxis]
    seen = label[rows(batches.unlabelled(x, 100, seed=0), 20)]
    correlation = np.corrcoef(seen, np.arange(2000))[0, 1]
    assert abs(correlation) < 0.1
    counts = np.stack([np.bincount(part, minlength=10) for part in seen.reshape(20, 100)])
    assert counts.max() <= 25  # 10 of each are expected in a batch of 100


def test_batches_pair_inputs_with_their_labels_and_give_unlabelled_inputs_alone():
    x = np.arange(30, dtype=np.float32)[:, np.newaxis]
    dataset = batches.semi_supervised(
        (x[:12], np.arange(12) % 3), x[12:], num_classes=3, batch_sizes=(5, 7), seed=0
    )
    for batch in dataset.take(10):
        assert set(batch) == {"labelled", "unlabelled"}
        x_l, y = (part.numpy() for part in batch["labelled"])
        np.testing.assert_array_equal(y, np.eye(3)[x_l[:, 0].astype(int) % 3])
        assert x_l.shape == (5, 1)
        assert batch["unlabelled"].shape == (7, 1)
        assert batch["unlabelled"].numpy().min() >= 12


def test_labels_alone():
    x = np.zeros((4, 2), np.float32)
    dataset = batches.semi_supervised((x, np.array([0, 1, 0, 1])), None, 2, (3, 0), seed=0)
    (batch,) = dataset.take(1)
    assert set(batch) == {"labelled"}


def test_transform_is_applied_and_uint8_is_kept_until_then():
    x = np.full((4, 2), 255, np.uint8)
    (batch,) = batches.unlabelled(x, 2, 0, transform=lambda v: v / 255).take(1)
    np.testing.assert_array_equal(batch["unlabelled"], 1.0)


def test_images_are_moved_anew_at_every_step_and_a_later_start_moves_them_alike():
    images = np.random.default_rng(0).random((3, 8, 8), np.float32)

    def inputs(start_step, count):
        dataset = batches.semi_supervised(
            (images, np.arange(3)), images, 3, (3, 3), 0, start_step=start_step, max_shift=2
        )
        return [(b["labelled"][0].numpy(), b["unlabelled"].numpy()) for b in dataset.take(count)]

    whole = inputs(0, 6)
    np.testing.assert_array_equal(inputs(4, 2), whole[4:])
    assert not np.array_equal(whole[0][0], whole[0][1])  # labelled and unlabelled ones differ
    seen = {image.tobytes() for step in whole for part in step for image in part}
    assert len(seen) > 20  # of 36 that were given; there are 25 moves of each of 3 images


def test_moved_images_keep_their_labels():
    levels = np.arange(6, dtype=np.float32)
    images = np.broadcast_to(levels[:, np.newaxis, np.newaxis], (6, 4, 4))  # the same everywhere
    dataset = batches.semi_supervised((images, np.arange(6)), None, 6, (4, 0), 0, max_shift=1)
    for batch in dataset.take(5):
        x, y = (part.numpy() for part in batch["labelled"])
        np.testing.assert_array_equal(y, np.eye(6)[x[:, 0, 0].astype(int)])


def test_evaluation_is_one_pass_in_order_with_the_remainder():
    x = np.arange(11, dtype=np.float32)[:, np.newaxis]
    found = list(batches.evaluation(x, np.arange(11) % 2, 2, batch_size=4))
    assert [len(batch["unlabelled"]) for batch in found] == [4, 4, 3]
    seen = np.concatenate([batch["labelled"][0] for batch in found])[:, 0]
    np.testing.assert_array_equal(seen, np.arange(11))


@pytest.mark.parametrize(
    ("count", "batch_size", "steps"), [(100, 10, 10), (101, 10, 11), (3, 10, 1)]
)
def test_steps_per_epoch_cover_the_set(count, batch_size, steps):
    assert batches.steps_per_epoch(count, batch_size) == steps


def test_an_empty_set_is_refused():
    with pytest.raises(InputError, match="a training set must not be empty"):
        batches.unlabelled(np.zeros((0, 2), np.float32), 2, seed=0)
