"""What a report speaks of, computed once: probabilities, labels and log-likelihoods of a run."""

from dataclasses import dataclass

import numpy as np

from tfssl.models import importance
from tfssl.runs.calibration import obstacle
from tfssl.runs.opened import OpenedRun
from tfssl.runs.temperature import Calibration


@dataclass(frozen=True)
class Judged:
    """A run and its outputs on the points it is judged by.

    Attributes:
      opened: the run with its data.
      calibration: the run's `Calibration`, or None.
      part: whose points these are: "test", or if there are none "validation" or "unlabelled".
      x: [N, ...] stored inputs.
      label: [N] integers, None for unlabelled points.
      raw: [N, K], the classifier's own probabilities; None of a choice, which has no others than
        calibrated ones.
      probabilities: [N, K], calibrated if there is a calibration.
      scored: [S] row numbers of the points with a log-likelihood.
      log_likelihood: [S], nats of what the model sees; None without a generative model.
      training_log_likelihood: of as many training points, for comparison.
      num_samples: of the importance sampling.
    """

    opened: OpenedRun
    calibration: Calibration | None
    part: str
    x: np.ndarray
    label: np.ndarray | None
    raw: np.ndarray | None
    probabilities: np.ndarray
    scored: np.ndarray
    log_likelihood: np.ndarray | None
    training_log_likelihood: np.ndarray | None
    num_samples: int

    @classmethod
    def gather(cls, opened, num_points, num_samples, progress=iter):
        """Run the model.

        Args:
          opened: as above.
          num_points: how many points get a log-likelihood, drawn at random; all if there are fewer.
          num_samples: of z per point.
          progress: wraps the list of calls into TensorFlow as it is walked, twice.
        """
        run, parts, calibration = opened.run, opened.experiment.split, opened.run.calibration
        part, x, label = next(
            (candidate for candidate in _parts(parts) if len(candidate[1])),
            ("labelled", parts.x_labelled, parts.label),
        )
        probabilities = run.calibrated_probabilities(x)

        def score(inputs):
            if run.model is None:
                return None
            seen = run.preprocessing(inputs).numpy()
            return importance.log_likelihood(run.model, seen, num_samples, progress=progress)

        rng = np.random.default_rng(0)
        scored = rng.permutation(len(x))[:num_points]
        training = rng.permutation(len(parts.x_train))[:num_points]
        return cls(
            opened=opened,
            calibration=calibration,
            part=part,
            x=x,
            label=label,
            raw=None if run.blend is not None else run.probabilities(x),
            probabilities=probabilities,
            scored=scored,
            log_likelihood=score(x[scored]),
            training_log_likelihood=score(parts.x_train[training]),
            num_samples=num_samples,
        )

    @property
    def has_unseen_labels(self):
        """Whether the points have labels that the model was not fitted to."""
        return self.part in ("test", "validation")

    @property
    def uncalibrated_because(self):
        """Why training fitted no temperature, of a run that has none."""
        run = self.opened.run
        return obstacle(self.opened.experiment, run.model) or "none was fitted when it was trained"

    @property
    def flattered(self):
        """Whether the calibration was fitted to these very points."""
        return self.calibration is not None and self.calibration.fitted_on == self.part


def _parts(parts):
    yield "test", parts.x_test, parts.label_test
    yield "validation", parts.x_validation, parts.label_validation
    yield "unlabelled", parts.x_unlabelled, None
