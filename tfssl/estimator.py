"""Classifiers behind scikit-learn's interface: fit(X, y) with y == -1 for "no label".

A thin layer: arrays become a `Source`, parameters become `Settings`, and `choose` or
`fit_experiment` does the rest in memory.
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
from tfssl.blends.blend import Blend
from tfssl.choice.choose import BUDGET, choose
from tfssl.choice.pool import Pool
from tfssl.choice.words import ChoiceTable, PrintedLines
from tfssl.data.batches import in_batches
from tfssl.data.experiment import Experiment
from tfssl.data.given import expect_known, has_label, laid_out
from tfssl.data.pixels import levels_of
from tfssl.data.preprocessing import Preprocessing
from tfssl.data.recommended import nested, recommend
from tfssl.data.source import NO_LABEL, Source
from tfssl.errors import expect
from tfssl.runs.calibration import calibrate
from tfssl.runs.temperature import Calibration
from tfssl.settings.kinds import Classifier, Likelihood, Model
from tfssl.settings.parameters import settings_of
from tfssl.training.fit import Place
from tfssl.training.refit import refitting
from tfssl.training.sequence import fit_experiment
from tfssl.training.strategy import check_batch_sizes, make_strategy

Array = npt.NDArray[Any]

# float64 where X is neither: it is rounded to float32 once it is centred.
DTYPES = [np.float64, np.float32]
# In which a model that is named is trained again for its temperature.
FOLDS = 3


class SemiSupervisedClassifier(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    """The best that a few labels and many unlabelled points can justify, or a model by name.

    y == -1 means "no label", also among strings, as -1 in an array of objects or as "-1" in an
    array of strings; so -1 cannot be the name of a class. X is [n, n_features], or images
    [n, height, width] or [n, height, width, channels].

    With model = "auto" several classifiers, with and without the unlabelled points, are judged by
    labels that they have not seen, and the answer is a mean of the best; `choice_` shows the
    evidence. A model that is named is trained as it is. Of its parameters, those that are None are
    what suits the data, as `tfssl inspect` shows them.

    Args:
      model: "auto"; "m2", a generative model of x and its class; "m1m2", M2 on the features that
        M1, a variational auto-encoder, learns first; or "m1", a classifier on those features.
      budget: of "auto", about how many seconds to compare for on two cores; counted from the sizes
        of the data, not measured, so that the same data and seed give the same answer.
      likelihood: p(x|...): "columns" for tables, "bernoulli" for binary features, or intensities
        of which it draws binary ones; "binomial" for counts from 0 to `levels`; "gaussian" for
        other features, which are standardised; "isotropic", a Gaussian with one scale for all of x.
      levels: the largest possible value of every feature, if X are images or counts from 0 up;
        None to find out.
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
      classification_weight: weight of -log q(y|x), alpha / N, 0.1 in the paper.
      class_prior: p(y) of M2: "learned" from the unlabelled points; "labelled" for the shares
        (n_k + 1) / (n + K) among the labels, "uniform", or [n_classes] probabilities in the order
        of `classes_`. The shares are those of the data only if the labelled points are a random
        choice, not as many of each class.
      classifier: what M1's features feed if model = "m1": "tsvm", "svm", "knn" or "logistic".
      m1_latent_dim, m1_hidden_units, m1_epochs: M1's own, where they are to differ.
      calibrate: whether a model that is named has its probabilities scaled by a temperature from
        labels that it has not seen. M2 is trained three times more for it. "auto" does so where
        every class has two labels; "auto" as the model always is.
      random_state: seed of the initial weights, of the order of the data and of the noise.
      verbose: whether to show progress.

    Attributes:
      classes_: [n_classes], the sorted labels.
      choice_: of "auto", what was compared: a table of one row a candidate; print it.
      blend_: of "auto", the answer; None of a model that was named.
      model_: the trained `M1`, `M2` or `StackedM1M2`, None of "auto".
      classifier_: the fitted classifier on M1's features, None unless model = "m1".
      calibration_: the temperature of a model that was named, or None.
      preprocessing_: from X to what the model sees.
      history_: {"m1" and/or "m2": dictionaries of mean loss terms, one for every few epochs}.
      n_features_in_: number of features.
    """

    def __init__(
        self,
        model: Model | Literal["auto"] = "auto",
        *,
        budget: float = BUDGET,
        likelihood: Likelihood | Literal["auto"] | None = None,
        levels: int | None = None,
        whitening: int | float | None = None,
        latent_dim: int | None = None,
        hidden_units: tuple[int, ...] | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        labelled_batch_size: int | None = None,
        learning_rate: float | None = None,
        supervised_steps: int | None = None,
        classification_weight: float | None = None,
        class_prior: Literal["learned", "labelled", "uniform"] | npt.ArrayLike | None = None,
        classifier: Classifier | None = None,
        m1_latent_dim: int | None = None,
        m1_hidden_units: tuple[int, ...] | None = None,
        m1_epochs: int | None = None,
        calibrate: Literal["auto"] | bool = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.budget = budget
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
        self.calibrate = calibrate
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Fits to X [n, n_features] with labels y [n], -1 where there is none."""
        x, labels = self._validated(X, y)
        label = self._check_labels(labels)
        levels = self._levels(x)
        source = Source(
            name="X",
            x=x,
            label=label,
            x_test=x[:0],
            label_test=label[:0],
            class_names=tuple(str(name) for name in self.classes_),
            levels=levels,
        )
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        self.choice_: ChoiceTable | None = None
        self.blend_: Blend | None = None
        self.model_: Any = None
        self.classifier_: Any = None
        self.calibration_: Calibration | None = None
        self.history_: dict[str, Any] = {}
        if self.model == "auto":
            self._choose(source, seed)
        else:
            self._train(source, seed)
        return self

    def _choose(self, source: Source, seed: int) -> None:
        """The default: compare, and fit the answer."""
        known = source.label != NO_LABEL
        likelihood = "gaussian" if source.levels is None else "bernoulli"
        self.preprocessing_ = Preprocessing.fit(source.x, source.levels, likelihood)
        self.preprocessing_.check(source.x, "X")
        seen = in_batches(self.preprocessing_, source.x)
        pool = Pool(
            seen[known], source.label[known], seen[~known], source.num_classes, source.levels, seed
        )
        choice = choose(pool, self.budget, PrintedLines() if self.verbose else None)
        self.blend_, self.choice_ = choice.blend, ChoiceTable.of(choice)

    def _train(self, source: Source, seed: int) -> None:
        """A model by name, as it is."""
        labels_alone = NO_LABEL not in source.label
        suited = nested(recommend(source))
        settings = settings_of(self.get_params(), suited, labels_alone, seed)
        experiment = Experiment.prepare(settings, source)
        strategy = make_strategy(settings.device.strategy)
        check_batch_sizes(settings, strategy)
        place = Place(strategy, settings.device.jit_compile, verbose=bool(self.verbose))
        trained = fit_experiment(experiment, place)
        self.model_, self.classifier_ = trained.model, trained.classifier
        self.preprocessing_ = experiment.preprocessing
        self.history_ = {name: stage.history for name, stage in trained.fitted.items()}
        fewest = int(np.bincount(experiment.split.label).min())
        if self.calibrate is True or (self.calibrate == "auto" and fewest > 1):
            self.calibration_ = calibrate(
                experiment, self.model_, self.classifier_, refitting, "labelled", FOLDS
            )

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Probabilities of the classes, [n, n_classes]; see `calibrate`."""
        check_is_fitted(self)
        return self._apply(self._probabilities, X)

    def predict(self, X: npt.ArrayLike) -> Array:
        """The most probable class, [n]."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    def transform(self, X: npt.ArrayLike) -> Array:
        """Means of the latents, [n, latent_dim]: E[z|x] of M1 or M2, E[z1|x] of M1+M2.

        Of "auto", the principal components that most candidates saw.
        """
        check_is_fitted(self)
        if self.blend_ is not None:
            views = self.blend_.views
            return self._apply(lambda x: views("components", x), X)
        return self._apply(self.model_.latents, X)

    def score(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> float:
        """Accuracy on the points that have a label; so GridSearchCV can take y with -1."""
        predicted, labels = self.predict(X), column_or_1d(y)
        weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
        known = has_label(labels)
        expect(bool(known.any()), "a score needs points that have a label", labelled=0)
        from sklearn.metrics import accuracy_score  # loads much that a fit does not need

        return accuracy_score(labels[known], predicted[known], sample_weight=weight[known])

    def _probabilities(self, x: Any) -> Array:
        """Of a batch as the model sees it, [n, n_classes]."""
        if self.blend_ is not None:
            return self.blend_(x).astype(np.float32)
        outputs = self.model_(x).numpy()
        if self.classifier_ is not None:
            outputs = classifiers.probabilities(self.classifier_, outputs)
        if self.calibration_ is not None:
            outputs = self.calibration_(outputs)
        return outputs.astype(np.float32)

    def _apply(self, function: Callable[[Any], Any], X: npt.ArrayLike) -> Array:
        """function(x), [n, ...], of X [n, n_features], a batch at a time."""
        x = self._validated(X)
        self.preprocessing_.check(x, "X")
        return in_batches(lambda x: function(self.preprocessing_(x)), x)

    def _validated(self, X: npt.ArrayLike, y: Any = "no_validation") -> Any:
        """X as [n, n_features] floats, and y with it in `fit`; images are laid out in rows."""
        fitting = not isinstance(y, str)
        if fitting:
            expect(
                y is not None,
                "fit requires y to be passed, but the target y is None",
                hint="Give one label a point, and -1 where there is none.",
            )
            expect_known(y, "y", "Give -1 to points without a label.")
        options = {"ensure_min_samples": 2} if fitting else {"reset": False}
        found = validate_data(
            self, laid_out(X), y, dtype=DTYPES, ensure_all_finite=False, **options
        )
        x = found[0] if fitting else found
        hint = "Fill missing values first, for example with scikit-learn's SimpleImputer."
        expect_known(x, "X", hint)
        return found

    def _check_labels(self, y: Array) -> Array:
        """Sets `classes_` and returns each point's index in it, or -1: [n]."""
        known = has_label(y)
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

    def _levels(self, x: Array) -> int | None:
        expect(
            self.levels is None or (isinstance(self.levels, Integral) and self.levels > 0),
            "`levels` must be a positive integer or None",
            levels=self.levels,
        )
        # Components and Gaussians take features as they come.
        as_they_are = self.whitening is not None or self.likelihood in ("gaussian", "isotropic")
        return self.levels or (None if as_they_are else levels_of(x))

    @property
    def _n_features_out(self) -> int:
        if self.blend_ is not None:
            return self.blend_.views.axes.shape[1]
        return getattr(self.model_, "m1", self.model_).latent_dim

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
