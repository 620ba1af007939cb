"""Arrays as users of scikit-learn's interface give them."""

from typing import Any

import numpy as np

from tfssl.data.source import NO_LABEL
from tfssl.errors import expect


def laid_out(x: Any) -> Any:
    """Images [n, height, width] or [n, height, width, channels] as rows; others as they are."""
    if getattr(x, "ndim", 2) not in (3, 4):
        return x
    x = np.asarray(x)
    return x.reshape(len(x), -1)


def expect_known(values: Any, name: str, hint: str) -> None:
    """Fail if numbers or objects are missing or infinite."""
    array = np.asarray(values)
    if array.dtype.kind == "O":
        bad = any(value is None or value != value for value in array.ravel())
    else:
        bad = array.dtype.kind == "f" and not np.isfinite(array).all()
    expect(not bad, f"{name} must not contain missing values (NaN, None) or inf", hint=hint)


def has_label(y: np.ndarray) -> np.ndarray:
    """Which points have a label: [n] -> [n]. NumPy turns the -1 of ["a", -1] into "-1"."""
    return y != (str(NO_LABEL) if y.dtype.kind == "U" else NO_LABEL)
