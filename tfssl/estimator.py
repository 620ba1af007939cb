"""The models as one scikit-learn classifier: fit(X, y) with y == -1 for "no label".

A thin layer: arrays become a `Source`, parameters become `Settings`, and the `Trainer` does the
rest in memory.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tfssl import devices, evaluation
from tfssl.config import Settings, parse_settings
from tfssl.data.sources import NO_LABEL, Source
from tfssl.errors import expect
from tfssl.training import Experiment, Trainer, check_batch_sizes

Array = npt.NDArray[Any]

BLOCK = 64
BATCH_SIZE = 16 * BLOCK


class SemiSupervisedClassifier(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    """M1, M2 or M1+M2 behind scikit-learn's interface.

    y == -1 means "no label", also among strings in an array of objects (or as "-1" in an array of
    strings). -1 can therefore not be a class. If every point has a label, M2 learns from labels
    alone.

    Args:
      model: "m2", a generative model of x and its class; "m1m2", M2 on the features that M1, a
        variational auto-encoder, learns first; or "m1", a classifier on those features.
      likelihood: p(x|...): "bernoulli" for binary features or intensities, "binomial" for counts,
        "gaussian" for others, which are standardised; "auto" takes "bernoulli" if X has no values
        but 0 and 1, else "gaussian".
      levels: the largest intensity or count if X are images or counts from 0 to `levels`.
      latent_dim: size of z.
      hidden_units: sizes of the hidden layers of each network.
      epochs: passes over the unlabelled points, or over the labelled ones if all are labelled.
      batch_size: unlabelled points per step.
      labelled_batch_size: labelled points per step.
      learning_rate: Adam's.
      classification_weight: weight of -log q(y|x) of a labelled point, alpha / N in the paper.
      class_prior: p(y) of M2: "labelled" for the shares among the labels, "uniform", or
        [n_classes] probabilities in the order of `classes_`.
      classifier: what M1's features feed (model = "m1"): "tsvm", "svm", "knn" or "logistic".
      m1_latent_dim, m1_hidden_units, m1_epochs: M1's own, where they are to differ.
      random_state: seed of the initial weights, of the order of the data and of the noise.
      verbose: whether to show progress.

    Attributes:
      classes_: [n_classes], the sorted labels.
      model_: the trained `M1`, `M2` or `StackedM1M2`.
      classifier_: the fitted classifier on M1's features, None unless model = "m1".
      preprocessing_: from X to what the model sees.
      history_: {"m1" and/or "m2": one dictionary of loss terms per epoch}.
      n_features_in_: number of features.
    """

    def __init__(
        self,
        model: Literal["m1", "m2", "m1m2"] = "m2",
        *,
        likelihood: Literal["auto", "bernoulli", "binomial", "gaussian"] = "auto",
        levels: int | None = None,
        latent_dim: int = 10,
        hidden_units: tuple[int, ...] = (100,),
        epochs: int = 100,
        batch_size: int = 100,
        labelled_batch_size: int = 20,
        learning_rate: float = 3e-3,
        classification_weight: float = 1.0,
        class_prior: Literal["labelled", "uniform"] | npt.ArrayLike = "labelled",
        classifier: Literal["tsvm", "svm", "knn", "logistic"] = "tsvm",
        m1_latent_dim: int | None = None,
        m1_hidden_units: tuple[int, ...] | None = None,
        m1_epochs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.likelihood = likelihood
        self.levels = levels
        self.latent_dim = latent_dim
        self.hidden_units = hidden_units
        self.epochs = epochs
        self.batch_size = batch_size
        self.labelled_batch_size = labelled_batch_size
        self.learning_rate = learning_rate
        self.classification_weight = classification_weight
        self.class_prior = class_prior
        self.classifier = classifier
        self.m1_latent_dim = m1_latent_dim
        self.m1_hidden_units = m1_hidden_units
        self.m1_epochs = m1_epochs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Fits to X [n, n_features] with labels y [n], -1 where there is none."""
        X, y = validate_data(self, X, y, dtype=np.float32, ensure_min_samples=2)
        label = self._check_labels(y)
        settings = self._settings(X, label)
        source = Source(
            name="X",
            x=X,
            label=label,
            x_test=X[:0],
            label_test=label[:0],
            class_names=tuple(str(name) for name in self.classes_),
            levels=self.levels,
        )
        experiment = Experiment.prepare(settings, source)
        strategy = devices.make_strategy(settings.device.strategy)
        check_batch_sizes(settings, strategy)
        trainer = Trainer(experiment, strategy, verbose=bool(self.verbose))
        model, self.classifier_ = trainer.run()
        self.model_ = model.without_optimizer()
        self.preprocessing_ = experiment.preprocessing
        self.history_ = trainer.history
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Probabilities of the classes, [n, n_classes]; of "tsvm" and "svm", not calibrated."""
        X, n = self._check_inputs(X)
        probabilities = evaluation.class_probabilities(
            self.model_, self.classifier_, self.preprocessing_, X, BATCH_SIZE
        )
        return probabilities[:n].astype(np.float32)

    def predict(self, X: npt.ArrayLike) -> Array:
        """The most probable class, [n]."""
        # Not inline: `classes_` does not exist before `predict_proba` has checked for a fit.
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def transform(self, X: npt.ArrayLike) -> Array:
        """Means of the latents, [n, latent_dim]: E[z|x] of M1 or M2, E[z1|x] of M1+M2."""
        X, n = self._check_inputs(X)
        batches = (self.preprocessing_(X[rows]) for rows in gen_batches(len(X), BATCH_SIZE))
        return np.concatenate([self.model_.latents(x).numpy() for x in batches])[:n]

    def _check_inputs(self, X) -> tuple[Array, int]:
        """X, some rows repeated to make full blocks, and the number of rows to keep."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        self.preprocessing_.check(X, "X")
        # TensorFlow rounds the rows of an incomplete block differently: with full ones, what a
        # point gets does not depend on its place among others.
        return np.resize(X, (math.ceil(len(X) / BLOCK) * BLOCK, X.shape[1])), len(X)

    def _check_labels(self, y):
        """Sets `classes_` and returns y as integers: [n], an index into `classes_` or -1."""
        # Numpy has made strings of the -1 in ["a", "b", -1].
        has_label = y != (str(NO_LABEL) if y.dtype.kind == "U" else NO_LABEL)
        check_classification_targets(y[has_label])
        self.classes_, index = np.unique(y[has_label], return_inverse=True)
        expect(
            len(self.classes_) >= 2,
            '`y` must have labels of at least two classes besides -1, which means "no label"',
            classes=self.classes_.tolist(),
        )
        label = np.full(len(y), NO_LABEL)
        label[has_label] = index
        return label

    def _settings(self, X, label) -> Settings:
        labelled = label[label != NO_LABEL]
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        likelihood = self.likelihood
        if likelihood == "auto":
            likelihood = "bernoulli" if np.isin(X, (0, 1)).all() else "gaussian"
        fit = {
            "latent_dim": self.latent_dim,
            "hidden_units": self.hidden_units,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
        }
        own = {
            "latent_dim": self.m1_latent_dim,
            "hidden_units": self.m1_hidden_units,
            "epochs": self.m1_epochs,
        }
        prior = self.class_prior
        if isinstance(prior, str):
            expect(
                prior in ("labelled", "uniform"),
                '`class_prior` must be "labelled", "uniform" or an array of probabilities',
                class_prior=prior,
            )
            shares = np.bincount(labelled) / len(labelled)
            prior = shares if prior == "labelled" else None
        return parse_settings(
            _plain(
                {
                    "model": self.model,
                    "likelihood": likelihood,
                    "seed": seed,
                    "data": {
                        "name": "X",
                        "num_labelled": "all",
                        "num_test": 0,
                        "split_seed": seed,
                    },
                    "m1": {
                        **fit,
                        **{name: value for name, value in own.items() if value is not None},
                        "classifier": self.classifier,
                    },
                    "m2": {
                        **fit,
                        # Labels alone: one kind of batch.
                        "labelled_batch_size": self.batch_size
                        if len(labelled) == len(label)
                        else self.labelled_batch_size,
                        "class_prior": prior,
                        "classification_weight": self.classification_weight,
                    },
                }
            )
        )

    @property
    def _n_features_out(self):
        return getattr(self.model_, "m1", self.model_).latent_dim

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _plain(value):
    """Settings as JSON knows them: numpy's numbers and arrays become Python's."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
