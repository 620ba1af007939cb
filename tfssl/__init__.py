"""tfssl: train a good classifier from a few labels and a pile of unlabelled data, then ship it.

The public names load on first use, so that `import tfssl` does not import TensorFlow.
"""

import gc
import importlib
import os

# TensorFlow reads this when it is imported. By itself it uses oneDNN's matrix products, which are
# faster, only on CPUs with AVX-512.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# Imported before TensorFlow, it loads its parts when they are asked for; after it, all its layers
# and experiments at once.
import tensorflow_probability  # noqa: F401

_HOME = {
    "InputError": "tfssl.errors",
    "Settings": "tfssl.settings",
    "load_settings": "tfssl.settings",
    "M1": "tfssl.models",
    "M2": "tfssl.models",
    "StackedM1M2": "tfssl.models",
    "SemiSupervisedClassifier": "tfssl.estimator",
    "TransductiveSVM": "tfssl.classifiers.tsvm",
    "TrainedRun": "tfssl.runs.trained",
    "train": "tfssl.choice.run",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'tfssl' has no attribute {name!r}")
    collects = gc.isenabled()
    gc.disable()  # half a million objects come, and none is garbage: a quarter of the time
    try:
        return getattr(importlib.import_module(_HOME[name]), name)
    finally:
        if collects:
            gc.enable()


def __dir__():
    return sorted([*globals(), *__all__])
