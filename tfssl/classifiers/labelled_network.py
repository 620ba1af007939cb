"""What the networks among the baselines share: they are fitted to the labelled points alone."""

import keras
import numpy as np
import tensorflow as tf
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from tfssl.classifiers.minibatches import LABELLED_STREAM, shuffled
from tfssl.errors import expect
from tfssl.models.optimizers import FusedAdam, HoldThenDecay

# Rows that the network sees at a time when it predicts.
ROWS = 1000


class LabelledNetwork(ClassifierMixin, BaseEstimator):
    """A network of logits, trained for a fixed number of steps; y == -1 means "no label".

    A subclass stores `steps`, `batch_size`, `learning_rate`, `random_state` and `verbose`, and has

      _start(X, labelled): the network, its weights not yet fitted to labels; `classes_` is known.
        X is [N, ...], and labelled tells its labelled rows, [N].
      _inputs(X): what the network sees of stored inputs X [n, ...].

    Attributes:
      classes_: [K], the sorted labels.
      input_shape_: the shape of one stored input.
      network_: what `_inputs` gives -> [n, K] logits.
    """

    def fit(self, X, y):
        """Fits to X [N, ...] with integers y [N], -1 where there is no label."""
        X, y = validate_data(self, X, y, allow_nd=True)
        labelled = y != -1
        self.classes_, label = np.unique(y[labelled], return_inverse=True)
        several = 'must name more than one class, with -1 for "no label"'
        expect(len(self.classes_) > 1, f"`y` {several}", classes=self.classes_.tolist())
        self.input_shape_ = X.shape[1:]
        self.network_ = self._start(X, labelled)
        # The rate is held for the first half of the steps, then decays to zero.
        self.network_.compile(
            FusedAdam(HoldThenDecay(self.learning_rate, self.steps, decay_start=0.5)),
            keras.losses.CategoricalCrossentropy(from_logits=True),
        )
        one_hot = np.eye(len(self.classes_), dtype=np.float32)[label]
        stream = (self.random_state, LABELLED_STREAM)
        self.network_.fit(
            shuffled((self._inputs(X[labelled]), one_hot), self.batch_size, stream),
            steps_per_epoch=self.steps,
            shuffle=False,
            verbose=int(self.verbose),
        )
        return self

    def predict_proba(self, X):
        """Probabilities [n, K]."""
        check_is_fitted(self)
        X = validate_data(self, X, allow_nd=True, reset=False)
        expect(
            X.shape[1:] == self.input_shape_,
            f"inputs must have the shape [N, {', '.join(map(str, self.input_shape_))}]",
            shape=X.shape,
        )
        parts = (self._inputs(X[rows]) for rows in gen_batches(len(X), ROWS))
        logits = (self.network_(part, training=False) for part in parts)
        return np.concatenate([tf.nn.softmax(part).numpy() for part in logits])

    def predict(self, X):
        """The most probable class, [n]."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]
