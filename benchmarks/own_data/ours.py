"""tfssl's own methods, each with all its defaults, as a user calls them; and what a choice said."""

from typing import Any

import numpy as np

# Name -> arguments. `auto` gives none: it is whatever the estimator does by itself.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "m1": {"model": "m1"},
    "m2": {"model": "m2"},
    "m1m2": {"model": "m1m2"},
    "auto": {},
}


def start():
    """Load TensorFlow and let it begin its threads: no method's time."""
    import tensorflow as tf

    import tfssl.estimator  # noqa: F401

    tf.linalg.matmul(tf.ones([2, 2]), tf.ones([2, 2]))


def fit(name, x, y, seed):
    """The fitted estimator of our methods; y is -1 for "no label"."""
    from tfssl import SemiSupervisedClassifier

    return SemiSupervisedClassifier(**ARGUMENTS[name], random_state=seed).fit(x, y)


def said(estimator):
    """What a choice said of its candidates, [{name, weight, error, log_loss, ...}]; or None.

    `choice_` is a table: a sequence of rows, or an object that has them as `rows`; a row is a
    dictionary, a named tuple or a dataclass. Numbers and words of it are kept.
    """
    choice = getattr(estimator, "choice_", None)
    if choice is None:
        return None
    rows = choice if isinstance(choice, list | tuple) else getattr(choice, "rows", ())
    return [_plain(row) for row in rows]


def _plain(row):
    """Numbers and words of a row."""
    named = (
        row if isinstance(row, dict) else row._asdict() if hasattr(row, "_asdict") else vars(row)
    )
    values = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in named.items()
    }
    return {name: v for name, v in values.items() if isinstance(v, bool | int | float | str)}
