"""Seeded, class-balanced splits into labelled, unlabelled, validation and test points.

Labels of unlabelled points do not leave this file: `Split.x_unlabelled` comes without them.
"""

from dataclasses import dataclass

import numpy as np

from tfssl.data.on_disk import joined, take
from tfssl.data.source import NO_LABEL, Source
from tfssl.errors import expect


@dataclass(frozen=True)
class Split:
    """The parts of a data set.

    Inputs are arrays, or `Rows` of a source that stays on disk. `rows` gives their row numbers in
    the source, for the record. A table's features, here and in `source`, are as the labelled and
    unlabelled rows decide them.
    """

    source: Source
    x_labelled: np.ndarray
    label: np.ndarray
    x_unlabelled: np.ndarray
    x_validation: np.ndarray
    label_validation: np.ndarray
    x_test: np.ndarray
    label_test: np.ndarray
    rows: dict[str, np.ndarray]

    @property
    def x_train(self):
        """Every training input, labelled first: what M1 learns from. [N, ...]."""
        return joined(self.x_labelled, self.x_unlabelled)


def split(source, num_labelled, num_validation, num_test, seed, validation_seed=None, schema=None):
    """Split a source: first its rows, by their labels alone, then what they decide.

    Test points are the source's own, or `num_test` drawn at random from its labelled points if it
    has none. Then validation points are drawn at random, then the labelled points, the same number
    of every class (or one more where the number does not divide). All else is unlabelled, points
    that never had a label included.

    Args:
      source: a `Source`.
      num_labelled: how many points keep their label; "all" for every one that has one.
      num_validation: how many to hold out for validation.
      num_test: how many to hold out for testing if the source has no test points.
      seed: seed of the split.
      validation_seed: seed of the choice of test and validation points, if it is not to change
        with `seed`: such splits differ in their labels only, and can share an M1.
      schema: as in `Source.shaped_by`.
    """
    rng = np.random.default_rng(seed if validation_seed is None else validation_seed)
    has_label = rng.permutation(np.flatnonzero(source.label != NO_LABEL))
    own_test = len(source.x_test) > 0
    num_test = 0 if own_test else num_test
    expect(
        num_validation + num_test < len(has_label),
        "validation and test points must leave labelled points to train on",
        hint="Lower data.num_validation or data.num_test.",
        num_validation=num_validation,
        num_test=num_test,
        labelled_points=len(has_label),
    )
    test, validation, pool = np.split(has_label, [num_test, num_test + num_validation])
    if validation_seed is not None:
        rng = np.random.default_rng(seed)
        pool = rng.permutation(pool)
    labelled = (
        pool
        if num_labelled == "all"
        else _balanced(pool, source.label, num_labelled, source.class_names, rng)
    )
    _check_every_class(source.label[labelled], source.class_names)
    held_out = np.concatenate([test, validation, labelled])
    unlabelled = rng.permutation(np.setdiff1d(np.arange(len(source.x)), held_out))
    source = source.shaped_by(np.concatenate([labelled, unlabelled]), schema)
    x_test, label_test = source.x, source.label
    if own_test:
        x_test, label_test = source.x_test, source.label_test
        test = np.flatnonzero(label_test != NO_LABEL)
    return Split(
        source=source,
        x_labelled=take(source.x, labelled),
        label=source.label[labelled],
        x_unlabelled=take(source.x, unlabelled),
        x_validation=take(source.x, validation),
        label_validation=source.label[validation],
        x_test=take(x_test, test),
        label_test=label_test[test],
        rows={
            "labelled": labelled,
            "unlabelled": unlabelled,
            "validation": validation,
            "test": test,
        },
    )


def _balanced(pool, label, count, class_names, rng):
    """`count` rows of `pool`, in random order, equally many of each class."""
    num_classes = len(class_names)
    members = [pool[label[pool] == k] for k in range(num_classes)]
    without = [name for name, rows in zip(class_names, members, strict=True) if not len(rows)]
    expect(
        not without,
        "every class must have at least one labelled training point",
        hint="Label one, hold out fewer for validation and testing, or drop the class.",
        without_label=without,
    )
    expect(
        num_classes <= count <= len(pool),
        "data.num_labelled must be at least one per class and at most the labelled points there "
        "are",
        num_labelled=count,
        classes=num_classes,
        labelled_points=len(pool),
    )
    quota = np.full(num_classes, count // num_classes)
    quota[rng.permutation(num_classes)[: count % num_classes]] += 1
    scarce = [k for k in range(num_classes) if len(members[k]) < quota[k]]
    expect(
        not scarce,
        "every class must have as many labelled points as its share of data.num_labelled",
        hint='Ask for fewer, or use data.num_labelled = "all".',
        num_labelled=count,
        too_few={class_names[k]: f"{len(members[k])} of {quota[k]}" for k in scarce},
    )
    # `pool` is shuffled, so its first members are a random choice.
    return rng.permutation(np.concatenate([m[:q] for m, q in zip(members, quota, strict=True)]))


def _check_every_class(labels, class_names):
    expect(len(class_names) >= 2, "there must be at least two classes", classes=list(class_names))
    missing = [n for k, n in enumerate(class_names) if not np.any(labels == k)]
    expect(
        not missing,
        "every class must have at least one labelled training point",
        hint="Label one, hold out fewer for validation and testing, or drop the class.",
        without_label=missing,
    )
