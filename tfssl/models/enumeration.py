"""How the sum over y in U(x) is taken: over every class, or over the likeliest alone.

M2 is given one of these parts; another `Enumeration` that is registered with Keras will do as well.
"""

import dataclasses

import keras
import tensorflow as tf

from tfssl.errors import expect
from tfssl.models import objectives


def loss_per_class(model, x, epsilon, classes=None):
    """L(x, y) of several classes for each example.

    The classes share one epsilon per example: each L(x, y) is unbiased all the same, and the
    differences between classes are less noisy.

    Args:
      model: M2.
      x: [batch, D].
      epsilon: [batch, latent_dim].
      classes: [batch, C] integers; every class if None, C = K.

    Returns:
      loss: [batch, C].
    """
    y = tf.range(model.num_classes) if classes is None else classes
    return model.loss_terms(x[:, tf.newaxis], y, epsilon[:, tf.newaxis])[0]


@dataclasses.dataclass(frozen=True)
class Enumeration:
    """How U(x) is got: subclasses are values, and their fields all there is to save."""

    @property
    def full(self):
        """What evaluation uses: this very part if it is exact."""
        return self

    def check(self, num_classes):
        """Fail unless the part suits K classes."""

    def unlabelled_loss(self, model, x, epsilon, logits):
        """U(x), [batch].

        Args:
          model: M2.
          x: [batch, D].
          epsilon: [batch, latent_dim].
          logits: [batch, K], unnormalised log q(y|x).
        """
        raise NotImplementedError

    def get_config(self):
        return dataclasses.asdict(self)

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras.saving.register_keras_serializable("tfssl")
@dataclasses.dataclass(frozen=True)
class AllClasses(Enumeration):
    """U(x) = sum_y q(y|x) L(x, y) - H(q(y|x)) over all K classes (eq. 7)."""

    def unlabelled_loss(self, model, x, epsilon, logits):
        return objectives.unlabelled_loss(loss_per_class(model, x, epsilon), logits)


@keras.saving.register_keras_serializable("tfssl")
@dataclasses.dataclass(frozen=True)
class LikeliestClasses(Enumeration):
    """U(x) with q(y|x) kept to its k likeliest classes, so that L is needed for these alone.

    That is a bound as well, and a close one once q(y|x) has little mass elsewhere.

    Args:
      k: how many classes.
    """

    k: int

    @property
    def full(self):
        return AllClasses()

    def check(self, num_classes):
        expect(
            1 <= self.k <= num_classes,
            "`top_classes` must be between 1 and `num_classes`, or None for all classes",
            top_classes=self.k,
            num_classes=num_classes,
        )

    def unlabelled_loss(self, model, x, epsilon, logits):
        logits, classes = tf.math.top_k(logits, self.k)
        return objectives.unlabelled_loss(loss_per_class(model, x, epsilon, classes), logits)


def make_enumeration(enumeration, top_classes, num_classes):
    """The part that M2's arguments ask for.

    Args:
      enumeration: such a part, or what Keras wrote of one into a file, or None.
      top_classes: k of `LikeliestClasses`, or None for `AllClasses`.
      num_classes: K.
    """
    expect(
        enumeration is None or top_classes is None,
        "`top_classes` is short for an `enumeration`: give one of the two",
        top_classes=top_classes,
    )
    if isinstance(enumeration, dict):
        enumeration = keras.saving.deserialize_keras_object(enumeration)
    if enumeration is None:
        enumeration = AllClasses() if top_classes is None else LikeliestClasses(top_classes)
    enumeration.check(num_classes)
    return enumeration


class TruncateLater(keras.callbacks.Callback):
    """Enumerate in full at first, and by a part of M2's own only from some epoch on.

    Args:
      share: the share of all epochs that enumerate in full.
      enumeration: what comes then.
    """

    def __init__(self, share, enumeration):
        super().__init__()
        self.share = share
        self.enumeration = enumeration

    def on_epoch_begin(self, epoch, logs=None):
        early = epoch < self.share * self.params["epochs"]
        enumeration = self.enumeration.full if early else self.enumeration
        if enumeration != self.model.enumeration:
            self.model.enumeration = enumeration
            self.model.make_train_function(force=True)

    def on_train_end(self, logs=None):
        self.model.enumeration = self.enumeration
