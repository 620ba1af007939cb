"""Predictions as a CSV file.

id              the row of the input
label           the likeliest class; empty where the classifier abstains
confidence      its probability
entropy         of the probabilities, in nats
log_likelihood  of the input under the model, in nats: low where it is unlike the training data
calibrated p(<class>)   or  uncalibrated p(<class>)

A name that a spreadsheet would take for a formula has an apostrophe before it, see `plain_text`.
"""

import csv

from tfssl.errors import expect
from tfssl.runs.metrics import entropy
from tfssl.storage.files import atomic_path

# What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plain_text(name):
    """A name as a CSV cell that no spreadsheet runs: an apostrophe before =, +, -, @ and controls.

    Numbers stay as they are, such as the class -1.
    """
    name = str(name)
    if not name.startswith(FORMULA):
        return name
    try:
        float(name)
    except ValueError:
        return f"'{name}"
    return name


def check_output(path):
    """Fail before any work if the file cannot be written."""
    expect(
        not path.exists(),
        f"{path} must not exist yet",
        hint="Remove it or choose another --output.",
    )
    expect(path.parent.is_dir(), f"the folder of {path} must exist", folder=str(path.parent))


def write_csv(
    path,
    probabilities,
    class_names,
    names=None,
    calibrated=False,
    log_likelihood=None,
    abstain_below=0.0,
):
    """Write a row for each input.

    Args:
      path: the file to write.
      probabilities: [N, K].
      class_names: K names.
      names: N names of the inputs, their ids; row numbers if None.
      calibrated: whether the probabilities are, for the names of their columns.
      log_likelihood: [N], or None to leave the column out.
      abstain_below: the confidence below which no label is given.

    Returns:
      abstained: how many inputs have no label.
    """
    confidence, uncertainty = probabilities.max(axis=1), entropy(probabilities)
    abstains = confidence < abstain_below
    kind = "calibrated" if calibrated else "uncalibrated"
    scored = log_likelihood is not None
    names = range(len(probabilities)) if names is None else names
    with atomic_path(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        header = ["id", "label", "confidence", "entropy", *["log_likelihood"] * scored]
        writer.writerow([*header, *(f"{kind} p({name})" for name in class_names)])
        for row, values in enumerate(probabilities):
            label = "" if abstains[row] else plain_text(class_names[int(values.argmax())])
            numbers = [confidence[row], uncertainty[row]]
            numbers += [log_likelihood[row]] if scored else []
            shown = (f"{value:.6g}" for value in [*numbers, *values])
            writer.writerow([plain_text(names[row]), label, *shown])
    return int(abstains.sum())
