"""The answer: a weighted mean of calibrated classifiers.

    p(y|x) ~ (pi_y / rho_y) [sum_m w_m p_m(y|x)^(1/T_m)]^(1/T)

with pi the shares of the classes among the unlabelled points, rho those among the labels.
"""

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from tfssl.blends.shares import with_shares
from tfssl.blends.views import Views
from tfssl.classifiers import probabilities
from tfssl.classifiers.temperature import scaled
from tfssl.data.batches import in_batches


@dataclass(frozen=True)
class Member:
    """One classifier of a blend.

    Attributes:
      name: of the candidate.
      view: what it sees of x.
      classifier: fitted to all labels.
      temperature: T_m.
      weight: w_m; they add up to 1.
    """

    name: str
    view: str
    classifier: Any
    temperature: float
    weight: float


@dataclass(frozen=True)
class Blend:
    """A fitted answer.

    Attributes:
      members: `Member`s.
      views: `Views`, from x as preprocessing gives it to what the members see.
      temperature: T.
      shares: [K], pi.
      labelled_shares: [K], rho.
    """

    members: tuple[Member, ...]
    views: Views
    temperature: float
    shares: np.ndarray
    labelled_shares: np.ndarray

    def __call__(self, x):
        """Probabilities [n, K] of x [n, D] as preprocessing gives it."""
        return with_shares(self.as_labelled(x), self.shares, self.labelled_shares)

    def as_labelled(self, x):
        """The same where the classes are as common as among the labels."""
        seen = {name: self.views(name, x) for name in {member.view for member in self.members}}
        parts = [
            member.weight
            * scaled(
                class_probabilities(member.classifier, seen[member.view], len(self.shares)),
                member.temperature,
            )
            for member in self.members
        ]
        return scaled(sum(parts), self.temperature)


def class_probabilities(classifier, x, num_classes):
    """[n, K] probabilities of a fitted classifier; of classes that it was not shown, nearly 0."""
    if is_network(classifier):
        return in_batches(classifier, np.asarray(x, np.float32)).astype(np.float64)
    found = np.full((len(x), num_classes), float(np.finfo(np.float32).tiny))
    # In float64, or some of scikit-learn's compute in float32, and an export could not agree.
    found[:, classifier.classes_] = probabilities(classifier, np.asarray(x, np.float64))
    return found / found.sum(axis=1, keepdims=True)


def is_network(classifier):
    """Whether a classifier is a Keras model x -> q(y|x), such as M2, and not one of arrays."""
    return isinstance(classifier, keras.Model)
