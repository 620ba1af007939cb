"""Label spreading on a graph of neighbours, which also classifies points that are not in it.

Points are joined to their k nearest ones by w_ij = exp(-|x_i - x_j|^2 / (r_i r_j)), with r_i the
distance of i to its k-th neighbour, and W becomes S = D^(-1/2) W D^(-1/2). Labels Y, each class
with a total of one, spread until they settle:

    (I - alpha S) F = Y

Every class is then scaled to the same total, because how far it spreads says nothing of how common
it is, and F_ik / sum_k F_ik are the probabilities of a point. A new point takes the mean of its k
nearest ones, and of those as near as the k-th, with the same weights.

References: D. Zhou, O. Bousquet, T. Lal, J. Weston and B. Schoelkopf, "Learning with local and
global consistency", NIPS 2003; X. Zhu, Z. Ghahramani and J. Lafferty, ICML 2003 (the totals).
"""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import normalize
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tfssl.errors import expect

Array = npt.NDArray[Any]

# Rows whose distances to all points are held at a time.
ROWS = 1000
# No point reaches less far than this share of the mean: of points that coincide, r is 0.
LEAST_REACH = 1e-2
# Squared distances that differ by less than this share are equal but for rounding.
EQUAL = 1e-9
# Where no label has come, every class is as likely: what is added to each of K.
NOWHERE = 1e-6


@dataclass(frozen=True)
class Graph:
    """The neighbours of a set of points; it knows no label.

    Attributes:
      points: [N, F]; of length one if the metric is "cosine".
      reach: [N], the distance of each point to its k-th neighbour.
      similarity: [N, N] sparse, S.
    """

    points: Array
    reach: Array
    similarity: sp.csr_matrix


def neighbour_graph(x: Array, k: int = 10, metric: str = "euclidean") -> Graph:
    """The `Graph` of points x [N, F]; k is less where there are fewer points."""
    # Half the memory and time of float64, and enough to tell neighbours from others.
    points = _on_sphere(x, metric, np.float32)
    k = min(k, len(points) - 1)
    distances, neighbours = nearest(points, points, k + 1)
    # A point is its own nearest neighbour, but for points that coincide.
    distances, neighbours = distances[:, 1:], neighbours[:, 1:]
    reach = np.maximum(distances[:, -1], least_reach(distances[:, -1]))
    weights = np.exp(-(distances**2) / (reach[:, None] * reach[neighbours]))
    rows = np.repeat(np.arange(len(points)), k)
    joined = sp.csr_matrix((weights.ravel(), (rows, neighbours.ravel())), shape=(len(points),) * 2)
    joined = joined.maximum(joined.T)
    root = sp.diags(1.0 / np.sqrt(np.maximum(np.asarray(joined.sum(axis=1)).ravel(), 1e-300)))
    return Graph(points, reach, (root @ joined @ root).tocsr())


def least_reach(reach: Array) -> float:
    """The least r that a point may have, from all of a graph, [N]."""
    return max(LEAST_REACH * float(reach.mean()), float(np.finfo(np.float32).eps))


def squared_distances(x: Array, points: Array) -> Array:
    """|x - p|^2, [n, N]."""
    own, squares = (np.einsum("nf,nf->n", rows, rows) for rows in (x, points))
    return np.maximum(own[:, None] - 2.0 * x @ points.T + squares, 0.0)


def nearest(x: Array, points: Array, k: int) -> tuple[Array, Array]:
    """Distances [n, k] and row numbers [n, k] of the k points nearest to each x, nearest first."""
    parts = []
    for first in range(0, len(x), ROWS):
        distances = squared_distances(x[first : first + ROWS], points)
        few = np.argpartition(distances, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(distances, few, axis=1), axis=1, kind="stable")
        few = np.take_along_axis(few, order, axis=1)
        parts.append((np.sqrt(np.take_along_axis(distances, few, axis=1)), few))
    distances, neighbours = (np.concatenate(part) for part in zip(*parts, strict=True))
    return distances, neighbours


def spread(similarity: sp.csr_matrix, y: Array, alpha: float) -> Array:
    """F of (I - alpha S) F = Y, [N, K], by conjugate gradients: the matrix is positive definite."""
    size = similarity.shape[0]
    matrix = LinearOperator((size, size), lambda v: v - alpha * (similarity @ v), dtype=np.float64)
    columns = [cg(matrix, column, rtol=1e-5, maxiter=1000)[0] for column in y.T]
    return np.maximum(np.stack(columns, axis=1), 0.0)


class SpreadingClassifier(ClassifierMixin, BaseEstimator):
    """Label spreading that is fitted with y == -1 for "no label".

    Args:
      n_neighbors: k.
      alpha: how far labels spread, below 1.
      metric: "euclidean", or "cosine" for angles.

    Attributes:
      classes_: [n_classes], the sorted labels.
      points_, reach_: of the `Graph`.
      shares_: [N, n_classes], the probabilities of its points.
    """

    transductive = True  # fit is to be given the unlabelled points too

    def __init__(
        self,
        n_neighbors: int = 10,
        alpha: float = 0.99,
        metric: Literal["euclidean", "cosine"] = "euclidean",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.metric = metric

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, graph: Graph | None = None) -> Self:
        """Fits to X [N, F] with integers y [N]; `graph` is that of X, if it is there already."""
        X, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        X, y = np.asarray(X), np.asarray(labels)
        check_classification_targets(y)
        self.classes_ = np.unique(y[y != -1])
        expect(len(self.classes_) >= 2, "`y` must have labels of at least two classes besides -1")
        graph = graph or neighbour_graph(X, self.n_neighbors, self.metric)
        own = (y[:, None] == self.classes_).astype(np.float64)
        found = spread(graph.similarity, own / own.sum(axis=0), self.alpha)
        found = found / np.maximum(found.sum(axis=0), np.finfo(np.float64).tiny)
        self.shares_ = _as_probabilities(found)
        self.points_, self.reach_ = graph.points, graph.reach
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Probabilities [n, n_classes]."""
        check_is_fitted(self)
        given: Any = validate_data(self, X, dtype=np.float64, reset=False)
        x = _on_sphere(given, self.metric, np.float64)
        parts = [self._mean_near(x[first : first + ROWS]) for first in range(0, len(x), ROWS)]
        return _as_probabilities(np.concatenate(parts))

    def _mean_near(self, x: Array) -> Array:
        """The mean of the points near x [n, F], [n, n_classes].

        `export.classifier_graphs` has it again as a graph; in float64, or they could not agree.
        """
        squares = squared_distances(x, self.points_.astype(np.float64))
        k = min(self.n_neighbors, len(self.points_))
        farthest = np.partition(squares, k - 1, axis=1)[:, k - 1 : k]
        own = np.einsum("nf,nf->n", x, x)[:, None]
        rows, near = np.nonzero(squares <= farthest + EQUAL * (own + farthest))
        reach = np.maximum(np.sqrt(farthest[:, 0]), self.reach_.min())
        exponents = squares[rows, near] / (reach[rows] * self.reach_[near])
        # The largest weight of a point is 1, however far it is from all others.
        least = np.minimum.reduceat(exponents, np.searchsorted(rows, range(len(x))))
        weights = np.exp(least[rows] - exponents)
        mean = sp.csr_matrix((weights, (rows, near)), shape=squares.shape) @ self.shares_
        return mean / np.bincount(rows, weights)[:, None]

    def predict(self, X: npt.ArrayLike) -> Array:
        """The most probable class, [n]."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]


def _as_probabilities(shares: Array) -> Array:
    total = shares.sum(axis=1, keepdims=True)
    shares = shares / np.maximum(total, np.finfo(np.float64).tiny) + NOWHERE
    return shares / shares.sum(axis=1, keepdims=True)


def _on_sphere(x: Array, metric: str, dtype: Any) -> Array:
    x = np.asarray(x, dtype)
    return normalize(x) if metric == "cosine" else x
