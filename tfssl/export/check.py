"""Does an exported SavedModel compute what the Keras model computes? An export counts only if so.

Every signature is run by TensorFlow's C++ loader, not by Python's, and compared with the reference.
"""

from dataclasses import dataclass

import numpy as np

from tfssl.errors import expect
from tfssl.export.cpp_loader import SavedModelSession
from tfssl.export.functions import functions
from tfssl.export.reference import load_reference, make_reference, real_inputs
from tfssl.runs.temperature import calibration_record
from tfssl.storage.files import read_json
from tfssl.storage.hashes import folder_hashes

# Of probabilities, and of what else a model computes: pixels come from a code that is rounded too.
TOLERANCE, OTHER_TOLERANCE = 1e-5, 1e-4


@dataclass(frozen=True)
class Comparison:
    """One signature beside its reference.

    Attributes:
      signature: its name.
      inputs, outputs: their names.
      rows: how many inputs were given.
      deviation: the largest |difference| of a number, relative to the largest number of its output
        if that exceeds 1; labels and names are equal.
    """

    signature: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rows: int
    deviation: float


def check_saved_model(path, reference):
    """`Comparison`s of all signatures, in order of their names; `InputError` if one fails."""
    with SavedModelSession(path) as session:
        expect(
            set(session.signatures) == set(reference),
            f"{path} must have the signatures of its reference",
            missing=sorted(set(reference) - set(session.signatures)),
            unknown=sorted(set(session.signatures) - set(reference)),
        )
        return [_compare(session, name, *reference[name]) for name in sorted(reference)]


def _compare(session, name, inputs, expected):
    found = session.run(name, inputs)
    expect(
        set(found) == set(expected),
        f"the signature {name} must have the outputs of its reference",
        found=sorted(found),
        expected=sorted(expected),
    )
    deviation = max(_deviation(name, key, found[key], expected[key]) for key in expected)
    rows = len(next(iter(inputs.values())))
    return Comparison(name, tuple(inputs), tuple(expected), rows, deviation)


def _deviation(name, key, found, expected):
    what = f"the signature {name}, output {key}"
    expect(
        found.shape == expected.shape,
        f"{what}, must have the shape of the reference",
        found=found.shape,
        expected=expected.shape,
    )
    if expected.dtype.kind != "f":
        text = found.astype(str) if found.dtype == object else found
        other = np.array([e.decode() for e in expected]) if expected.dtype == object else expected
        expect(np.array_equal(text, other), f"{what}, must equal the reference")
        return 0.0
    tolerance = TOLERANCE if key == "probabilities" else OTHER_TOLERANCE
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    deviation = float(np.abs(found - expected).max(initial=0.0)) / scale
    # Not `> tolerance`: a difference that is not a number must fail too.
    expect(
        deviation <= tolerance, f"{what}, must be within {tolerance} of the reference", by=deviation
    )
    return deviation


def check_version(version, run=None):
    """Check an exported `Version` by its hashes and against its reference, or a `TrainedRun`."""
    check_hashes(version)
    if run is None:
        return check_saved_model(version.path, load_reference(version.card / "reference.npz"))
    exported = read_json(version.card / "card.json").get("calibration")
    current = calibration_record(run.calibration)
    expect(
        exported == current,
        f"{version.path} must have the calibration that {run.folder.path} has now",
        hint="The run was calibrated after the export: export it again.",
        exported=exported,
        run=current,
    )
    return check_saved_model(version.path, make_reference(run, functions(run), real_inputs(run)))


def check_hashes(version):
    """Fail unless the version holds exactly the files that its card lists."""
    path = version.card / "card.json"
    listed = read_json(path).get("files")
    expect(isinstance(listed, dict), f"{path} must list its files", files=listed)
    found = folder_hashes(version.path)
    changed = sorted(k for k in {*listed, *found} if listed.get(k) != found.get(k))
    expect(not changed, f"{version.path} must hold what was exported", changed=changed)
