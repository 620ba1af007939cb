"""A finished run, read back to predict."""

import functools

import numpy as np

from tfssl.classifiers.files import load_classifier
from tfssl.errors import expect
from tfssl.runs.folder import RunFolder
from tfssl.storage.archives import damaged, read_arrays

EXAMPLES = "examples.npz"
NUM_EXAMPLES = 50
RECORD = "choice.json"
# Rows that a blend is given at a time.
ROWS = 20_000


class TrainedRun:
    """A finished run, ready to predict.

    Attributes:
      folder: the `RunFolder`.
      settings: its `Settings`.
      preprocessing: stored inputs -> what the model sees.
      model: M1, M2 or StackedM1M2; of model = "auto" the M2 that was trained beside the answer, or
        None.
      blend: the answer of model = "auto", else None.
      classifier: the fitted scikit-learn classifier on M1's features, else None.
      class_names: one per class.
    """

    def __init__(self, path):
        self.folder = RunFolder.open(path)
        self.settings = self.folder.settings()
        chosen = self.settings.model == "auto"
        beside = not chosen or (self.settings.auto.with_generative and self.folder.is_finished)
        self.model = self.folder.load_model("model.keras") if beside else None
        self.blend = self._load_blend() if chosen else None
        self.preprocessing = self.folder.preprocessing()
        path = self.folder / "preprocessing.npz"
        with damaged(path):
            self.class_names = tuple(str(name) for name in read_arrays(path)["class_names"])
        self.classifier = None
        if self.model is not None and not self.model.has_classes:
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

    @property
    def is_calibrated(self):
        """Whether `calibrated_probabilities` are: those of a blend are from the start."""
        return self.blend is not None or self.calibration is not None

    @functools.cached_property
    def choice(self):
        """What a blend rests on, as choice.json has it; None of a model by name."""
        return None if self.blend is None else self.folder.read_json(RECORD)

    def generative(self, what):
        """The model, for something that has no meaning without one.

        Args:
          what: a clause such as "a log-likelihood".
        """
        expect(
            self.model is not None,
            f"{what} needs a generative model, and {self.folder.path} has none beside its answer",
            hint="Train it with --set auto.with_generative=true, or a model by name, such as "
            "--set model=m2.",
        )
        return self.model

    def calibrated_probabilities(self, x):
        """What an export gives: `probabilities`, scaled if the run has a calibration."""
        probabilities = self.probabilities(x)
        return probabilities if self.calibration is None else self.calibration(probabilities)

    def probabilities(self, x, batch_size=1000):
        """q(y|x) for stored inputs x [N, ...]: [N, K]."""
        from tfssl.runs.predicting import class_probabilities

        self.preprocessing.check(x, "the input")
        if self.blend is not None:
            return blend_probabilities(self.blend, self.preprocessing, x)
        return class_probabilities(self.model, self.classifier, self.preprocessing, x, batch_size)

    def class_features(self, x):
        """What points are compared by, [N, F]: M1's latents, what M2 sees, a blend's components."""
        from tfssl.data.batches import in_batches

        if self.blend is not None:
            return self.blend.views("components", in_batches(self.preprocessing, x))
        model = self.generative("a comparison of points")
        return in_batches(lambda rows: model.class_features(self.preprocessing(rows)), x)

    def _load_blend(self):
        from tfssl.blends.files import FILE, load_blend

        expect(
            (self.folder / "blend" / FILE).is_file(),
            f"{self.folder.path} must hold an answer",
            hint="The run did not finish: continue it with `tfssl train --resume`.",
        )
        return load_blend(self.folder / "blend")


def blend_probabilities(blend, preprocessing, x):
    """[N, K] probabilities of a `Blend` for stored inputs x [N, ...]."""
    from tfssl.data.batches import in_batches

    parts = [
        blend(in_batches(preprocessing, x[first : first + ROWS]))
        for first in range(0, len(x), ROWS)
    ]
    return np.concatenate(parts)
