"""The run to show when none is named: the first of those that the commands write."""

from pathlib import Path

from tfssl.errors import InputError
from tfssl.runs.folder import RunFolder

# In order of preference, below runs/: what `tfssl train`, `reproduce` and `study` write. The
# classes of M2 and of the stack make analogies; larger images are easier to draw.
KNOWN = (
    "mnist_m1m2",
    "reproduce/runs/mnist_m1_m2_*",
    "mnist_m2",
    "reproduce/runs/mnist_m2_*",
    "digits_m2",
    "study/runs/m2_*",
    "digits_m1m2",
    "study/runs/m1_m2_*",
)
TRAINED_HERE = "digits_m2"


def find(runs):
    """The first finished run of `KNOWN` in the folder `runs`, or None."""
    for pattern in KNOWN:
        for path in sorted(Path(runs).glob(pattern)):
            if _is_finished(path):
                return path
    return None


def _is_finished(path):
    try:
        RunFolder.open(path).check_finished()
    except InputError:
        return False
    return True
