"""A finished run, read back to predict."""

import functools

from tfssl.classifiers.files import load_classifier
from tfssl.runs.folder import RunFolder
from tfssl.storage.archives import damaged, read_arrays

EXAMPLES = "examples.npz"
NUM_EXAMPLES = 50


class TrainedRun:
    """A finished run, ready to predict.

    Attributes:
      folder: the `RunFolder`.
      settings: its `Settings`.
      preprocessing: stored inputs -> what the model sees.
      model: M1, M2 or StackedM1M2.
      classifier: the fitted scikit-learn classifier on M1's features, else None.
      class_names: one per class.
    """

    def __init__(self, path):
        self.folder = RunFolder.open(path)
        self.settings = self.folder.settings()
        self.model = self.folder.load_model("model.keras")
        self.preprocessing = self.folder.preprocessing()
        path = self.folder / "preprocessing.npz"
        with damaged(path):
            self.class_names = tuple(str(name) for name in read_arrays(path)["class_names"])
        self.classifier = None
        if not self.model.has_classes:
            self.classifier = load_classifier(self.folder / "classifier.skops")

    @functools.cached_property
    def calibration(self):
        """The `Calibration` that is stored with the run, or None."""
        from tfssl.runs.temperature import Calibration

        return Calibration.load(self.folder)

    @functools.cached_property
    def examples(self):
        """A few training inputs as they are stored, [n, ...]; None if the run is an older one's."""
        path = self.folder / EXAMPLES
        if not path.exists():
            return None
        with damaged(path):
            x = read_arrays(path)["x"]
        self.preprocessing.check(x, str(path))
        return x

    def calibrated_probabilities(self, x):
        """What an export gives: `probabilities`, scaled if the run has a calibration."""
        probabilities = self.probabilities(x)
        return probabilities if self.calibration is None else self.calibration(probabilities)

    def probabilities(self, x, batch_size=1000):
        """q(y|x) for stored inputs x [N, ...]: [N, K]."""
        from tfssl.runs.predicting import class_probabilities

        self.preprocessing.check(x, "the input")
        return class_probabilities(self.model, self.classifier, self.preprocessing, x, batch_size)
