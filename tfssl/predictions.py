"""Predictions as a CSV file."""

import csv

from tfssl.errors import expect
from tfssl.files import atomic_path


def check_output(path):
    """Fail before any work if the file cannot be written."""
    expect(
        not path.exists(),
        f"{path} must not exist yet",
        hint="Remove it or choose another --output.",
    )
    expect(path.parent.is_dir(), f"the folder of {path} must exist", folder=str(path.parent))


def write_csv(path, probabilities, class_names, names=None):
    """Rows id, label, probability of each class.

    Args:
      path: the file to write.
      probabilities: [N, K].
      class_names: K names.
      names: N names of the inputs, their ids; row numbers if None.
    """
    with atomic_path(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label", *(f"p({name})" for name in class_names)])
        names = range(len(probabilities)) if names is None else names
        for name, values in zip(names, probabilities, strict=True):
            shares = (f"{value:.6g}" for value in values)
            writer.writerow([name, class_names[int(values.argmax())], *shares])
