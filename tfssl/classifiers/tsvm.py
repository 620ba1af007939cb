"""Transductive support vector machine, trained by gradient descent in the primal.

For every class k, against the rest, f_k(x) = phi(x) . w_k + b_k minimises

    J(w_k) = |w_k|^2 / 2
             + C  sum_labelled   max(0, 1 - s f_k(x))^2      s = +1 in class k, else -1
             + C* sum_unlabelled exp(-3 f_k(x)^2)            the margin avoids the data
    subject to  mean_unlabelled f_k(x) = 2 r_k - 1,          r_k the share of class k

The constraint keeps the unlabelled points from all falling on one side.  With features centred on
the unlabelled mean it reads b_k = 2 r_k - 1, so the bias is a constant and no multiplier is needed.
J is not convex: C* grows from zero, where J is that of the ordinary SVM and convex, and each step
starts at the solution of the step before.  What it finds is a local minimum near the ordinary SVM.

Reference: O. Chapelle and A. Zien, "Semi-supervised classification by low density separation",
AISTATS 2005.
"""

import warnings
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tfssl.errors import expect
from tfssl.settings.priors import labelled_prior

Array = npt.NDArray[Any]

# Shares of the final C*: nothing, then from 1/1024 to 1, about doubling each time.
ANNEALING = np.concatenate([[0.0], 2.0 ** np.linspace(-10, 0, 10)])


def labelled_loss(scores: Array, signs: Array) -> tuple[Array, Array]:
    """Squared hinge, max(0, 1 - s f)^2.

    Args:
      scores: [n, outputs], f.
      signs: [n, outputs], s, +1 or -1.

    Returns:
      loss, and its gradient -2 s max(0, 1 - s f) in f: [n, outputs] each.
    """
    slack = np.maximum(0.0, 1.0 - signs * scores)
    return slack**2, -2.0 * signs * slack


def unlabelled_loss(scores: Array) -> tuple[Array, Array]:
    """Smooth stand-in for the hinge of the likelier label, exp(-3 f^2): one on the boundary.

    Args:
      scores: [n, outputs], f.

    Returns:
      loss, and its gradient -6 f exp(-3 f^2) in f: [n, outputs] each.
    """
    loss = np.exp(-3.0 * scores**2)
    return loss, -6.0 * scores * loss


def objective(
    parameters: Array, labelled: Array, signs: Array, unlabelled: Array, C: float, C_star: float
) -> tuple[float, Array]:
    """J, summed over the outputs.

    Args:
      parameters: [features + 1, outputs], w, and b in the last row, which is not penalised.
      labelled: [n_labelled, features + 1], phi(x), and one in the last column.
      signs: [n_labelled, outputs], +1 or -1.
      unlabelled: [n_unlabelled, features + 1], as `labelled`; its dtype is that of its products.
      C, C_star: weight of each labelled and of each unlabelled point.

    Returns:
      J, and its gradient in the parameters: [features + 1, outputs].
    """
    weights = np.vstack([parameters[:-1], np.zeros_like(parameters[:1])])
    loss, slope = labelled_loss(labelled @ parameters, signs)
    value = 0.5 * np.sum(weights**2) + C * loss.sum()
    gradient = weights + C * (labelled.T @ slope)
    if C_star > 0:
        loss, slope = unlabelled_loss(unlabelled @ parameters.astype(unlabelled.dtype))
        value += C_star * loss.sum(dtype=np.float64)
        gradient += C_star * (unlabelled.T @ slope)
    return float(value), gradient


class TransductiveSVM(ClassifierMixin, BaseEstimator):
    """SVM that also places its margin where the unlabelled points are few.

    Labels are integers, and y == -1 means "no label".  With no unlabelled point it is the plain
    one-vs-rest SVM with squared hinge and a bias that is not penalised.

    Args:
      kernel: "linear", or "rbf": exp(-gamma |x - x'|^2) through `n_components` Nystroem features.
      C: weight of each labelled point's loss against |w|^2 / 2.
      unlabelled_weight: weight of all unlabelled points together, relative to that of all labelled
        ones: C* = unlabelled_weight C n_labelled / n_unlabelled.
      gamma: "scale" for 1 / (n_features Var[X]), or a positive number; "rbf" only.
      n_components: number of Nystroem features, at most the number of points; "auto" takes one for
        every 30 points, from 500 to 1500; "rbf" only.
      class_prior: r, the share of each class among the unlabelled points: "labelled" for the
        shares (n_k + 1) / (n + K) among the labels, "uniform" (better if few labels were drawn at
        random from classes about equally common), or [n_classes] probabilities in the order of
        `classes_`.
      max_iter: most L-BFGS iterations for each of the annealing steps.
      tol: a step ends when an iteration lowers J by less than this fraction.
      random_state: seed for the choice of the Nystroem points; "rbf" only.

    Attributes:
      classes_: [n_classes], the sorted labels.
      class_prior_: [n_classes], r.
      coef_, intercept_: w [features, outputs] and b [outputs], one output for two classes.
      n_iter_: L-BFGS iterations, over all annealing steps.
    """

    transductive = True  # fit is to be given the unlabelled points too

    def __init__(
        self,
        kernel: Literal["linear", "rbf"] = "rbf",
        C: float = 10.0,
        unlabelled_weight: float = 1.0,
        gamma: Literal["scale"] | float = "scale",
        n_components: int | Literal["auto"] = "auto",
        class_prior: Literal["labelled", "uniform"] | npt.ArrayLike = "labelled",
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.unlabelled_weight = unlabelled_weight
        self.gamma = gamma
        self.n_components = n_components
        self.class_prior = class_prior
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fits to X [n, n_features] with labels y [n], -1 where there is none."""
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64)
        coding = 'with -1 for "no label"'
        check_classification_targets(y)
        expect(y.dtype.kind in "biuf", f"`y` must hold integers, {coding}", dtype=str(y.dtype))
        has_label = y != -1
        self.classes_ = np.unique(y[has_label])
        several = f"`y` must name more than one class, {coding}"
        expect(len(self.classes_) > 1, several, classes=self.classes_.tolist())
        self.class_prior_ = self._prior(y[has_label])

        self.feature_map_ = self._fit_feature_map(X)
        phi = self._features(X)
        n_unlabelled = np.sum(~has_label)
        reference = ~has_label if n_unlabelled else has_label
        centre = reference @ phi / reference.sum()
        centre[-1] = 0.0  # the column of ones stays
        phi -= centre
        # Single precision halves the time of the two products that dominate the fit.
        labelled, unlabelled = phi[has_label], phi.astype(np.float32)[~has_label]
        outputs = slice(1 if len(self.classes_) == 2 else 0, None)
        signs = np.where(y[has_label, None] == self.classes_, 1.0, -1.0)[:, outputs]
        parameters = np.zeros((phi.shape[1], signs.shape[1]))
        parameters[-1] = 2.0 * self.class_prior_[outputs] - 1.0

        def evaluate(flat: Array, C_star: float) -> tuple[float, Array]:
            current = flat.reshape(parameters.shape)
            value, gradient = objective(current, labelled, signs, unlabelled, self.C, C_star)
            if n_unlabelled:
                gradient[-1] = 0.0  # the constraint fixes the bias
            return value, gradient.ravel()

        C_star = self.unlabelled_weight * self.C * len(labelled) / max(n_unlabelled, 1)
        options = {"maxiter": self.max_iter, "ftol": self.tol}
        self.n_iter_ = stopped = 0
        shares = ANNEALING if n_unlabelled else [0.0]
        for share in shares:
            start, weight = parameters.ravel(), share * C_star
            result = minimize(evaluate, start, weight, "L-BFGS-B", jac=True, options=options)
            parameters = result.x.reshape(parameters.shape)
            self.n_iter_ += result.nit
            stopped += result.nit >= self.max_iter
        if stopped:
            message = (
                f"L-BFGS stopped at max_iter={self.max_iter} before converging, in {stopped} of "
                f"{len(shares)} steps; increase it."
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        self.coef_ = parameters[:-1]
        self.intercept_ = parameters[-1] - centre[:-1] @ self.coef_
        return self

    def decision_function(self, X: Any) -> Array:
        """Scores f(x): [n, n_classes], or [n], positive for `classes_[1]`, if there are two."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores = self._features(X) @ np.vstack([self.coef_, self.intercept_])
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Array:
        """The label of the highest score, [n]."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(1)]

    def _check_parameters(self) -> None:
        def positive(value: Any, kind: Any = Real) -> bool:
            return isinstance(value, kind) and 0 < float(value) < np.inf

        checks = {
            "kernel": (self.kernel in ("linear", "rbf"), '"linear" or "rbf"'),
            "C": (positive(self.C), "a positive number"),
            "unlabelled_weight": (positive(self.unlabelled_weight), "a positive number"),
            "gamma": (self.gamma == "scale" or positive(self.gamma), '"scale" or positive'),
            "n_components": (
                self.n_components == "auto" or positive(self.n_components, Integral),
                'a positive integer or "auto"',
            ),
            "max_iter": (positive(self.max_iter, Integral), "a positive integer"),
            "tol": (positive(self.tol), "a positive number"),
        }
        for name, (valid, requirement) in checks.items():
            expect(valid, f"`{name}` must be {requirement}", **{name: getattr(self, name)})

    def _prior(self, labels: Array) -> Array:
        """r: [n_classes], from `class_prior`."""
        n, prior = len(self.classes_), self.class_prior
        if isinstance(prior, str):
            shares = labelled_prior(np.searchsorted(self.classes_, labels), n)
            prior = {"labelled": shares, "uniform": np.full(n, 1.0 / n)}.get(prior, prior)
        prior = np.asarray(prior)  # an unknown name has no shape
        valid = prior.shape == (n,) and np.all(prior >= 0) and np.isclose(prior.sum(), 1.0)
        requirement = f'`class_prior` must be "labelled", "uniform" or {n} probabilities'
        expect(valid, requirement, class_prior=self.class_prior)
        return prior

    def _features(self, X: Array) -> Array:
        """phi(x), and one in the last column for the bias: [n, features + 1]."""
        # A few thousand rows at a time: the kernel matrix is never held whole.
        batches = (self.feature_map_.transform(X[rows]) for rows in gen_batches(len(X), 4096))
        return np.concatenate([np.column_stack([phi, np.ones(len(phi))]) for phi in batches])

    def _fit_feature_map(self, X: Array) -> Any:
        """phi, the identity if linear."""
        if self.kernel == "linear":
            return FunctionTransformer().fit(X)
        gamma = 1.0 / (X.shape[1] * X.var() or 1.0) if self.gamma == "scale" else self.gamma
        n_components = self.n_components
        if n_components == "auto":
            n_components = min(max(500, len(X) // 30), 1500)
        n_components = min(n_components, len(X))
        nystroem = Nystroem(gamma=gamma, n_components=n_components, random_state=self.random_state)
        # Nystroem draws rows by their position: sorted, the draw does not depend on their order.
        return nystroem.fit(X[np.lexsort(X.T)])
