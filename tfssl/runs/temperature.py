"""The temperature that a run scales its probabilities by.

What it does to them: `classifiers.temperature`; how it is fitted: `runs.calibration`.
"""

from dataclasses import asdict, dataclass

from tfssl.classifiers.temperature import scaled
from tfssl.errors import InputError, expect
from tfssl.storage.files import write_json

FILE = "calibration.json"
# Beyond these nothing changes any more: p_T is uniform, or all on one class.
SHARPEST, SOFTEST = 1e-4, 1e4


@dataclass(frozen=True)
class Calibration:
    """A fitted temperature.

    Attributes:
      temperature: T.
      fitted_on: "validation", or "labelled" for cross-fitting on the labelled training points.
      points: how many.
      folds: of the cross-fitting, else None.
    """

    temperature: float
    fitted_on: str
    points: int
    folds: int | None = None

    def __call__(self, probabilities):
        return scaled(probabilities, self.temperature)

    def __str__(self):
        how = f", cross-fitted in {self.folds} folds" if self.folds else ""
        return f"temperature {self.temperature:.3g} from {self.points} {self.fitted_on} points{how}"

    def save(self, folder):
        write_json(folder / FILE, calibration_record(self))

    @classmethod
    def load(cls, folder):
        """What is stored in a `RunFolder`, or None."""
        if not (folder / FILE).exists():
            return None
        found = folder.read_json(FILE)
        try:
            calibration = cls(**found)
            good = SHARPEST <= calibration.temperature <= SOFTEST
        except TypeError as error:
            raise InputError(f"{folder / FILE} is damaged: {error}.") from None
        expect(good, f"{folder / FILE} must hold a positive temperature", **found)
        return calibration


def calibration_record(calibration):
    """A `Calibration` as plain JSON values; None stays None."""
    return None if calibration is None else asdict(calibration)
