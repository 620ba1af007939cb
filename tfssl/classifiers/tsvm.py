"""Transductive support vector machine, trained by gradient descent in the primal.

For every class k, against the rest, f_k(x) = phi(x) . w_k + b_k minimises

    J(w_k) = |w_k|^2 / 2
             + C  sum_labelled   max(0, 1 - s f_k(x))^2      s = +1 in class k, else -1
             + C* sum_unlabelled exp(-3 f_k(x)^2)            the margin avoids the data
    subject to  mean_unlabelled f_k(x) = 2 r_k - 1,          r_k the share of class k

The constraint keeps the unlabelled points from all falling on one side.  With features centred on
the unlabelled mean it reads b_k = 2 r_k - 1, so the bias is a constant and no multiplier is needed.
J is not convex: C* grows from zero, each step starting at the solution of the step before, the
first of which is the ordinary SVM.

Reference: O. Chapelle and A. Zien, "Semi-supervised classification by low density separation",
AISTATS 2005.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tfssl.errors import expect

Array = npt.NDArray[Any]

UNLABELLED = -1
# C* doubles from C* / 2^10 to C*: small enough to begin at the ordinary SVM's own margin.
ANNEALING = np.concatenate([[0.0], 2.0 ** np.linspace(-10, 0, 10)])


def labelled_loss(scores: Array, signs: Array) -> tuple[Array, Array]:
    """Squared hinge, max(0, 1 - s f)^2.

    Args:
      scores: [n, outputs], f.
      signs: [n, outputs], s, +1 or -1.

    Returns:
      loss: [n, outputs].
      gradient: [n, outputs], d loss / d f = -2 s max(0, 1 - s f).
    """
    slack = np.maximum(0.0, 1.0 - signs * scores)
    return slack**2, -2.0 * signs * slack


def unlabelled_loss(scores: Array) -> tuple[Array, Array]:
    """Smooth stand-in for the hinge of the likelier label, exp(-3 f^2).

    Args:
      scores: [n, outputs], f.

    Returns:
      loss: [n, outputs], one on the decision boundary and small outside the margin.
      gradient: [n, outputs], d loss / d f = -6 f exp(-3 f^2).
    """
    loss = np.exp(-3.0 * scores**2)
    return loss, -6.0 * scores * loss


def objective(
    parameters: Array,
    labelled: Array,
    signs: Array,
    unlabelled: Array,
    labelled_weight: float,
    unlabelled_weight: float,
) -> tuple[float, Array]:
    """J summed over the outputs: sum_k J(w_k, b_k).

    Args:
      parameters: [features + 1, outputs], the weights w above one row of biases b.
      labelled: [n_labelled, features].
      signs: [n_labelled, outputs], +1 or -1.
      unlabelled: [n_unlabelled, features]; its dtype is that of the large products.
      labelled_weight: C, for each labelled point.
      unlabelled_weight: C*, for each unlabelled point.

    Returns:
      value: J.
      gradient: [features + 1, outputs], dJ / d parameters.
    """
    weights, bias = parameters[:-1], parameters[-1]
    loss, slope = labelled_loss(labelled @ weights + bias, signs)
    value = 0.5 * np.sum(weights**2) + labelled_weight * loss.sum()
    gradient = np.vstack([weights + labelled_weight * labelled.T @ slope, np.zeros_like(bias)])
    gradient[-1] = labelled_weight * slope.sum(axis=0)
    if unlabelled_weight:
        loss, slope = unlabelled_loss(
            unlabelled @ weights.astype(unlabelled.dtype) + bias.astype(unlabelled.dtype)
        )
        value += unlabelled_weight * loss.sum(dtype=np.float64)
        gradient[:-1] += unlabelled_weight * (unlabelled.T @ slope)
        gradient[-1] += unlabelled_weight * slope.sum(axis=0, dtype=np.float64)
    return float(value), gradient


def _in_batches(function: Callable[[Array], Array], x: Array) -> Array:
    """function(x), a few thousand rows at a time: the kernel matrix is never held whole."""
    return np.concatenate([function(x[rows]) for rows in gen_batches(len(x), 4096)])


def _positive(value: Any) -> bool:
    return isinstance(value, Real) and 0 < value < np.inf


class TransductiveSVM(ClassifierMixin, BaseEstimator):
    """SVM that also places its margin where the unlabelled points are few.

    Labels are integers, and y == -1 means "no label".  With no unlabelled point it is the plain
    one-vs-rest SVM with squared hinge and a bias that is not penalised.

    Args:
      kernel: "linear", or "rbf": exp(-gamma |x - x'|^2) through `n_components` Nystroem features.
      C: weight of each labelled point's loss against |w|^2 / 2.
      unlabelled_weight: weight of all unlabelled points together, relative to that of all labelled
        ones: C* = unlabelled_weight C n_labelled / n_unlabelled.  Zero leaves a supervised SVM
        under the class-balance constraint.
      gamma: "scale" for 1 / (n_features Var[X]), or a positive number; "rbf" only.
      n_components: number of Nystroem features, at most the number of points; "rbf" only.
      class_prior: share of each class among the unlabelled points: "labelled" for the shares
        among the labels, "uniform", or [n_classes] probabilities in the order of `classes_`.
      max_iter: most L-BFGS iterations for each of the annealing steps.
      random_state: seed for the choice of the Nystroem points; "rbf" only.

    Attributes:
      classes_: [n_classes], the sorted labels.
      class_prior_: [n_classes], the shares used; None if no point was unlabelled.
      feature_map_: fitted transformer, phi(x).
      coef_: [n_features_of_phi, outputs], w; one output for two classes, else one for each class.
      intercept_: [outputs], b.
      n_iter_: L-BFGS iterations, all annealing steps together.
    """

    transductive = True  # fit is to be given the unlabelled points too

    def __init__(
        self,
        kernel: Literal["linear", "rbf"] = "rbf",
        C: float = 10.0,
        unlabelled_weight: float = 1.0,
        gamma: Literal["scale"] | float = "scale",
        n_components: int = 500,
        class_prior: Literal["labelled", "uniform"] | npt.ArrayLike = "labelled",
        max_iter: int = 100,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.unlabelled_weight = unlabelled_weight
        self.gamma = gamma
        self.n_components = n_components
        self.class_prior = class_prior
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Fits to X [n, n_features] with labels y [n], -1 where there is none."""
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64)
        has_label = self._check_labels(y)
        columns = slice(1 if len(self.classes_) == 2 else 0, None)
        signs = np.where(y[has_label, None] == self.classes_, 1.0, -1.0)[:, columns]

        # Nystroem draws rows by their position: sorted, the draw does not depend on their order.
        self.feature_map_ = self._feature_map(X).fit(X[np.lexsort(X.T)])
        labelled = _in_batches(self.feature_map_.transform, X[has_label])
        balanced = not has_label.all()
        if balanced:
            self.class_prior_ = self._prior(y[has_label])
            bias = 2.0 * self.class_prior_[columns] - 1.0
            unlabelled = _in_batches(self.feature_map_.transform, X[~has_label])
            centre = unlabelled.mean(axis=0)
            # Single precision halves the time of the two products that dominate it.
            unlabelled = (unlabelled - centre).astype(np.float32)
            total = self.unlabelled_weight * self.C * len(labelled) / len(unlabelled)
        else:
            self.class_prior_ = None
            bias = np.zeros(signs.shape[1])
            centre, total = labelled.mean(axis=0), 0.0
            unlabelled = np.empty((0, labelled.shape[1]), np.float32)
        labelled -= centre

        parameters = np.vstack([np.zeros((labelled.shape[1], len(bias))), bias])

        def value_and_gradient(flat: Array, weight: float) -> tuple[float, Array]:
            value, gradient = objective(
                flat.reshape(parameters.shape), labelled, signs, unlabelled, self.C, weight
            )
            if balanced:
                gradient[-1] = 0.0  # the constraint fixes the bias
            return value, gradient.ravel()

        self.n_iter_ = 0
        for weight in total * ANNEALING if total else [0.0]:
            result = minimize(
                value_and_gradient,
                parameters.ravel(),
                args=(weight,),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": self.max_iter},
            )
            parameters = result.x.reshape(parameters.shape)
            self.n_iter_ += result.nit
        if result.nit >= self.max_iter:
            warnings.warn(
                f"L-BFGS stopped at max_iter={self.max_iter} before converging; increase it.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.coef_ = parameters[:-1]
        self.intercept_ = parameters[-1] - centre @ self.coef_
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Scores f(x): [n, n_classes], or [n], positive for `classes_[1]`, if there are two."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores = _in_batches(
            lambda rows: self.feature_map_.transform(rows) @ self.coef_ + self.intercept_, X
        )
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: npt.ArrayLike) -> Array:
        """The label of the highest score, [n]."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    def _check_parameters(self) -> None:
        """Raises a ValueError for the first argument of the constructor that is out of range."""
        expect(
            self.kernel in ("linear", "rbf"),
            '`kernel` must be "linear" or "rbf"',
            kernel=self.kernel,
        )
        expect(_positive(self.C), "`C` must be a positive number", C=self.C)
        expect(
            self.unlabelled_weight == 0 or _positive(self.unlabelled_weight),
            "`unlabelled_weight` must be a number, zero or more",
            unlabelled_weight=self.unlabelled_weight,
        )
        expect(
            self.gamma == "scale" or _positive(self.gamma),
            '`gamma` must be "scale" or a positive number',
            gamma=self.gamma,
        )
        for name in ("n_components", "max_iter"):
            value = getattr(self, name)
            expect(
                isinstance(value, Integral) and _positive(value),
                f"`{name}` must be a positive integer",
                **{name: value},
            )

    def _check_labels(self, y: Array) -> Array:
        """Sets `classes_` and returns which points have a label, [n]."""
        check_classification_targets(y)
        expect(
            y.dtype.kind in "biuf",
            '`y` must hold integer labels, with -1 for "no label"',
            dtype=str(y.dtype),
        )
        has_label = y != UNLABELLED
        self.classes_ = np.unique(y[has_label])
        expect(
            len(self.classes_) >= 2,
            '`y` must have labels of at least two classes besides -1, which means "no label"',
            classes=self.classes_.tolist(),
        )
        return has_label

    def _prior(self, labels: Array) -> Array:
        """Share of each class, r: [n_classes]."""
        n_classes = len(self.classes_)
        if isinstance(self.class_prior, str):
            expect(
                self.class_prior in ("labelled", "uniform"),
                '`class_prior` must be "labelled", "uniform" or an array of probabilities',
                class_prior=self.class_prior,
            )
            if self.class_prior == "uniform":
                return np.full(n_classes, 1.0 / n_classes)
            return np.mean(labels[:, None] == self.classes_, axis=0)
        prior = np.asarray(self.class_prior, dtype=np.float64)
        expect(
            prior.shape == (n_classes,) and (prior >= 0).all() and np.isclose(prior.sum(), 1.0),
            f"`class_prior` must hold {n_classes} probabilities that sum to one",
            class_prior=self.class_prior,
        )
        return prior

    def _feature_map(self, X: Array) -> Any:
        """Unfitted phi.  Centring costs no generality and spares digits if X lies far from zero."""
        centring = StandardScaler(with_std=False)
        if self.kernel == "linear":
            return centring
        gamma = self.gamma
        if gamma == "scale":
            gamma = 1.0 / (X.shape[1] * X.var()) if X.var() > 0 else 1.0
        return make_pipeline(
            centring,
            Nystroem(
                gamma=gamma,
                n_components=min(self.n_components, len(X)),
                random_state=self.random_state,
            ),
        )
