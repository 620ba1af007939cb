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
    """What a choice said of its candidates, {"rows": [...], "sentence": ...}; None without one."""
    choice = getattr(estimator, "choice_", None)
    if choice is None:
        return None
    return {"rows": [_plain(row) for row in choice.rows], "sentence": choice.sentence}


def _plain(row):
    """Numbers and words of a row, {name: value}; what is empty or NaN is left out."""
    values = {key: v.item() if isinstance(v, np.generic) else v for key, v in row.items()}
    # NaN is no JSON, and does not equal itself.
    return {
        k: v for k, v in values.items() if isinstance(v, int | float | str) and v == v and v != ""
    }
