"""Where a result comes from: versions, the revision of the code, the weights of an M1."""

import hashlib
import platform
import subprocess
from importlib import metadata

PACKAGES = ("tfssl", "tensorflow", "keras", "tensorflow-probability", "numpy", "scikit-learn")


def versions():
    """Versions of Python and of the packages that decide a result."""
    return {"python": platform.python_version(), **{p: metadata.version(p) for p in PACKAGES}}


def git_revision():
    """The revision of the working directory's checkout, or None."""
    try:
        result = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()


def m1_of(model):
    """The M1 that a model is or rests on, or None; no model has none."""
    if model is None:
        return None
    return getattr(model, "m1", None) if model.has_classes else model


def m1_digest(model):
    """16 digits that tell the weights of a model's M1 from any others; None if it has no M1."""
    m1 = m1_of(model)
    if m1 is None:
        return None
    digest = hashlib.sha256()
    for weight in m1.weights:
        digest.update(weight.numpy().tobytes())
    return digest.hexdigest()[:16]
