"""tfssl's own methods, each with all its defaults, as a user calls them; and what a choice said."""

from typing import Any

# Name -> arguments. `auto` gives none: it is whatever the estimator does by itself.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "m1": {"model": "m1"},
    "m2": {"model": "m2"},
    "m1m2": {"model": "m1m2"},
    "auto": {},
}
# Of a choice's rows: with all of it, a choice would be longer than all else of a cell together.
KEPT = ("name", "weight", "error", "log_loss", "seconds")


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
    """A row, {name: value}, with few digits; NaN, of what was not tried, is no JSON."""
    values = {key: row[key] for key in KEPT}
    return {
        key: value if isinstance(value, str) else float(f"{value:.3g}")
        for key, value in values.items()
        if value == value  # NaN does not equal itself
    }
