"""The models as one scikit-learn classifier: fit(X, y) with y == -1 for "no label".

A thin layer: arrays become a `Source`, parameters become `Settings`, and `fit_experiment` does the
rest in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tfssl import classifiers
from tfssl.data.batches import in_batches
from tfssl.data.experiment import Experiment
from tfssl.data.source import NO_LABEL, Source
from tfssl.errors import expect
from tfssl.settings import Settings, parse_settings
from tfssl.settings.kinds import Classifier, Likelihood, Model
from tfssl.training.fit import Place
from tfssl.training.sequence import fit_experiment
from tfssl.training.strategy import check_batch_sizes, make_strategy

Array = npt.NDArray[Any]

# float64 where X is neither: it is rounded to float32 once it is centred.
DTYPES = [np.float64, np.float32]


class SemiSupervisedClassifier(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    """M1, M2 or M1+M2 behind scikit-learn's interface.

    y == -1 means "no label", also among strings, as -1 in an array of objects or as "-1" in an
    array of strings; so -1 cannot be the name of a class. If every point has a label, M2 learns
    from labels alone.

    Args:
      model: "m2", a generative model of x and its class; "m1m2", M2 on the features that M1, a
        variational auto-encoder, learns first; or "m1", a classifier on those features. M1 pays
        off where x has many dimensions, such as images.
      likelihood: p(x|...): "bernoulli" for binary features, or intensities of which it draws
        binary ones; "binomial" for counts from 0 to `levels`; "gaussian" for other features, which
        are standardised; "isotropic", a Gaussian with one scale for all of x. "auto" takes
        "gaussian" if `whitening` is given, "binomial" if `levels` is, "bernoulli" if X holds
        nothing but 0 and 1, else "gaussian".
      levels: the largest possible value of every feature, if X are images or counts from 0 up.
      whitening: PCA of X for a Gaussian likelihood: how many components to keep, an integer, or
        which share of the variance, a float below 1. Each is scaled to unit variance, or all alike
        if the likelihood is "isotropic". None for X itself.
      latent_dim: size of z.
      hidden_units: sizes of the hidden layers of each network.
      epochs: passes over the unlabelled points, or over the labelled ones if all are labelled.
      batch_size: unlabelled points per step.
      labelled_batch_size: labelled points per step.
      learning_rate: Adam's.
      supervised_steps: steps of M2 on labels alone before the unlabelled points join.
      classification_weight: weight of -log q(y|x), alpha / N, 0.1 in the paper; a small set with
        short training may want more.
      class_prior: p(y) of M2: "labelled" for the shares (n_k + 1) / (n + K) among the labels,
        "uniform", or [n_classes] probabilities in the order of `classes_`. The shares are those of
        the data only if the labelled points are a random choice, not as many of each class.
      classifier: what M1's features feed if model = "m1": "tsvm", "svm", "knn" or "logistic".
      m1_latent_dim, m1_hidden_units, m1_epochs: M1's own, where they are to differ.
      random_state: seed of the initial weights, of the order of the data and of the noise.
      verbose: whether to show progress.

    Attributes:
      classes_: [n_classes], the sorted labels.
      model_: the trained `M1`, `M2` or `StackedM1M2`.
      classifier_: the fitted classifier on M1's features, None unless model = "m1".
      preprocessing_: from X to what the model sees.
      history_: {"m1" and/or "m2": dictionaries of mean loss terms, one for every few epochs}.
      n_features_in_: number of features.
    """

    def __init__(
        self,
        model: Model = "m2",
        *,
        likelihood: Likelihood | Literal["auto"] = "auto",
        levels: int | None = None,
        whitening: int | float | None = None,
        latent_dim: int = 10,
        hidden_units: tuple[int, ...] = (100,),
        epochs: int = 200,
        batch_size: int = 50,
        labelled_batch_size: int = 20,
        learning_rate: float = 3e-3,
        supervised_steps: int = 200,
        classification_weight: float = 0.1,
        class_prior: Literal["labelled", "uniform"] | npt.ArrayLike = "labelled",
        classifier: Classifier = "tsvm",
        m1_latent_dim: int | None = None,
        m1_hidden_units: tuple[int, ...] | None = None,
        m1_epochs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.likelihood = likelihood
        self.levels = levels
        self.whitening = whitening
        self.latent_dim = latent_dim
        self.hidden_units = hidden_units
        self.epochs = epochs
        self.batch_size = batch_size
        self.labelled_batch_size = labelled_batch_size
        self.learning_rate = learning_rate
        self.supervised_steps = supervised_steps
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
        x, labels = validate_data(self, X, y, dtype=DTYPES, ensure_min_samples=2)
        label = self._check_labels(labels)
        settings = self._settings(x, label)
        source = Source(
            name="X",
            x=x,
            label=label,
            x_test=x[:0],
            label_test=label[:0],
            class_names=tuple(str(name) for name in self.classes_),
            levels=self.levels,
        )
        experiment = Experiment.prepare(settings, source)
        strategy = make_strategy(settings.device.strategy)
        check_batch_sizes(settings, strategy)
        place = Place(strategy, settings.device.jit_compile, verbose=bool(self.verbose))
        trained = fit_experiment(experiment, place)
        self.model_, self.classifier_ = trained.model, trained.classifier
        self.preprocessing_ = experiment.preprocessing
        self.history_ = {name: stage.history for name, stage in trained.fitted.items()}
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Probabilities of the classes, [n, n_classes]; of "tsvm" and "svm", not calibrated."""
        check_is_fitted(self)
        return self._apply(self._probabilities, X)

    def predict(self, X: npt.ArrayLike) -> Array:
        """The most probable class, [n]."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def transform(self, X: npt.ArrayLike) -> Array:
        """Means of the latents, [n, latent_dim]: E[z|x] of M1 or M2, E[z1|x] of M1+M2."""
        check_is_fitted(self)
        return self._apply(self.model_.latents, X)

    def score(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> float:
        """Accuracy on the points that have a label; so GridSearchCV can take y with -1."""
        predicted, labels = self.predict(X), column_or_1d(y)
        weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
        known = _has_label(labels)
        expect(bool(known.any()), "a score needs points that have a label", labelled=0)
        from sklearn.metrics import accuracy_score  # loads much that a fit does not need

        return accuracy_score(labels[known], predicted[known], sample_weight=weight[known])

    def _probabilities(self, x: Any) -> Array:
        """Of a batch as the model sees it, [n, n_classes]."""
        outputs = self.model_(x).numpy()
        if self.classifier_ is None:
            return outputs
        return classifiers.probabilities(self.classifier_, outputs).astype(np.float32)

    def _apply(self, function: Callable[[Any], Any], X: npt.ArrayLike) -> Array:
        """function(x), [n, ...], of X [n, n_features], a batch at a time."""
        x = validate_data(self, X, dtype=DTYPES, reset=False)
        self.preprocessing_.check(x, "X")
        return in_batches(lambda x: function(self.preprocessing_(x)), x)

    def _check_labels(self, y: Array) -> Array:
        """Sets `classes_` and returns each point's index in it, or -1: [n]."""
        known = _has_label(y)
        label = np.full(len(y), NO_LABEL)
        try:
            self.classes_, label[known] = np.unique(y[known], return_inverse=True)
        except TypeError:
            types = sorted({type(one).__name__ for one in y[known]})
            message = f"`y` must be uniformly strings or numbers. Received: types={types}"
            raise TypeError(message) from None
        expect(
            len(self.classes_) >= 2,
            '`y` must have labels of at least two classes besides -1, which means "no label"',
            classes=self.classes_.tolist(),
        )
        check_classification_targets(y[known])
        return label

    def _settings(self, X: Array, label: Array) -> Settings:
        """The parameters as the settings of an experiment on all of X, without a test set."""
        levels = self.levels
        expect(
            levels is None or (isinstance(levels, Integral) and levels > 0),
            "`levels` must be a positive integer or None",
            levels=levels,
        )
        labels_alone = NO_LABEL not in label
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        shared = {
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
        m1 = {**shared, **{name: value for name, value in own.items() if value is not None}}
        m2 = {
            **shared,
            "labelled_batch_size": self.batch_size if labels_alone else self.labelled_batch_size,
            "supervised_steps": 0 if labels_alone else self.supervised_steps,
            "classification_weight": self.classification_weight,
            "class_prior": self._prior(),
        }
        settings = {
            "model": self.model,
            "likelihood": self._likelihood(X),
            "seed": seed,
            "data": {
                "name": "X",
                "num_labelled": "all",
                "num_test": 0,
                "split_seed": seed,
                "whitening": self.whitening,
            },
            "m1": {**m1, "classifier": self.classifier},
            "m2": m2,
        }
        return parse_settings(_plain(settings))

    def _likelihood(self, X: Array) -> str:
        if self.likelihood != "auto":
            return self.likelihood
        if self.whitening is not None:
            return "gaussian"
        if self.levels is not None:
            return "binomial"
        return "bernoulli" if np.isin(X, (0, 1)).all() else "gaussian"

    def _prior(self) -> Any:
        """`class_prior` as the settings have it: None for a uniform one."""
        if not isinstance(self.class_prior, str):
            return self.class_prior
        expect(
            self.class_prior in ("labelled", "uniform"),
            '`class_prior` must be "labelled", "uniform" or an array of probabilities',
            class_prior=self.class_prior,
        )
        return None if self.class_prior == "uniform" else self.class_prior

    @property
    def _n_features_out(self) -> int:
        return getattr(self.model_, "m1", self.model_).latent_dim

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _has_label(y: Array) -> Array:
    """Which points have a label: [n] -> [n]. NumPy turns the -1 of ["a", -1] into "-1"."""
    return y != (str(NO_LABEL) if y.dtype.kind == "U" else NO_LABEL)


def _plain(value: Any) -> Any:
    """Settings as JSON knows them: NumPy's numbers and arrays become Python's."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
