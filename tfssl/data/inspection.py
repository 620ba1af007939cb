"""What a data set holds, before anything is trained: counts, ranges, duplicates, warnings."""

import hashlib
from dataclasses import dataclass, field

import numpy as np

from tfssl.data.columns import feature_names
from tfssl.data.on_disk import chunks
from tfssl.data.recommended import SAMPLE, kind_of
from tfssl.data.source import NO_LABEL

# Of a feature that hardly varies, the share of values that must be equal.
NEARLY_ALL = 0.99
IMBALANCE = 3.0


@dataclass(frozen=True)
class Inspection:
    """What `inspect` found.

    Attributes:
      kind: as `tfssl.data.recommended.kind_of` calls it.
      shape, dtype: of one input.
      points: {"labelled", "unlabelled", "test"}: how many.
      classes: {class name: (training points, test points)}.
      low, high: the smallest and the largest value of all training inputs.
      duplicates: {"labelled in test", ...}: points of the first part that equal one of the second.
      conflicts: labelled points that equal another with a different label.
      near_constant: names or numbers of features with one value nearly everywhere.
      row_numbers: names of features that count the rows.
      warnings: sentences for the user.
    """

    kind: str
    shape: tuple
    dtype: str
    points: dict
    classes: dict
    low: float
    high: float
    duplicates: dict
    conflicts: int
    near_constant: list
    row_numbers: list
    warnings: list = field(default_factory=list)


def inspect(source):
    """Look at every point of a `Source`; of features that hardly vary, at the first 10,000."""
    labelled = source.label != NO_LABEL
    train, test = _digests(source.x), _digests(source.x_test)
    parts = {"labelled": train[labelled], "unlabelled": train[~labelled], "test": test}
    ranges = [(part.min(), part.max()) for part in chunks(source.x) if part.size]
    inspection = Inspection(
        kind=kind_of(source),
        shape=tuple(source.x.shape[1:]),
        dtype=str(source.x.dtype),
        points={name: len(part) for name, part in parts.items()},
        classes={
            name: (int((source.label == k).sum()), int((source.label_test == k).sum()))
            for k, name in enumerate(source.class_names)
        },
        low=float(min(low for low, _ in ranges)),
        high=float(max(high for _, high in ranges)),
        duplicates={
            f"{one} in {other}": int(np.isin(parts[one], parts[other]).sum())
            for one, other in (
                ("labelled", "unlabelled"),
                ("test", "labelled"),
                ("test", "unlabelled"),
            )
        }
        | {
            f"{name} twice": len(part) - len(np.unique(part))
            for name, part in parts.items()
            if name != "test"
        },
        conflicts=_conflicts(train[labelled], source.label[labelled]),
        near_constant=_near_constant(source),
        row_numbers=_row_numbers(source),
    )
    inspection.warnings.extend(_warnings(inspection))
    return inspection


def _digests(x):
    """[N] numbers that are equal where inputs are."""
    rows = (row for chunk in chunks(x) for row in chunk)
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows]
    return np.frombuffer(b"".join(digests), np.uint64)


def _conflicts(digests, label):
    """How many points equal another one of a different class."""
    pairs = np.unique(np.stack([digests, label.astype(np.uint64)], axis=1), axis=0)
    inputs, classes = np.unique(pairs[:, 0], return_counts=True)
    return int(np.isin(digests, inputs[classes > 1]).sum())


def _names(source):
    """A name per feature: of a table's, its own; else its number."""
    if source.schema is not None and source.schema["format"] == "table":
        return np.array(feature_names(source.schema), dtype=object)
    return np.arange(int(np.prod(source.x.shape[1:])))


def _near_constant(source):
    """Features of which nearly all values are one value; that is their median then."""
    sample = np.asarray(source.x[:SAMPLE]).reshape(len(source.x[:SAMPLE]), -1)
    same = (sample == np.median(sample, axis=0)).mean(axis=0)
    return _names(source)[same >= NEARLY_ALL].tolist()


def _row_numbers(source):
    """Features of a table that count its rows: they look like knowledge and are none."""
    if source.schema is None or source.schema["format"] != "table" or len(source.x) < 20:
        return []
    counts = (np.diff(np.sort(source.x, axis=0), axis=0) == 1).all(axis=0)
    return _names(source)[counts].tolist()


def _warnings(found):
    training = [count for count, _ in found.classes.values()]
    if found.points["unlabelled"] == 0:
        yield (
            "every point has a label: a supervised model may do as well; to try with fewer, set "
            "data.num_labelled"
        )
    if max(training) >= IMBALANCE * max(min(training), 1):
        yield (
            f"the classes are unbalanced: {min(training)} to {max(training)} labels; p(y) is taken "
            'from the labels (m2.class_prior = "labelled") if all are used (data.num_labelled)'
        )
    if min(training) == 0:
        yield "a class has no labelled training point: label one, or drop the class"
    leaked = found.duplicates["test in labelled"] + found.duplicates["test in unlabelled"]
    if leaked:
        yield f"{leaked} test points are also training points: the test error flatters"
    if found.conflicts:
        yield f"{found.conflicts} labelled points equal another one that has a different label"
    if found.row_numbers:
        yield (f"{', '.join(found.row_numbers)} only counts the rows: leave it out with data.drop")
    if found.low == found.high:
        yield f"every value of every input is {found.low:g}: there is nothing to learn from"
