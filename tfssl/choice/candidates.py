"""The classifiers that are compared: name, what it sees of x, how it is fitted, what that costs.

A candidate is fitted to the labels of some rows of a `Pool`, with all other points as unlabelled
ones, and gives a fitted classifier of its view.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tfssl.classifiers.spreading import SpreadingClassifier
from tfssl.classifiers.tsvm import TransductiveSVM


@dataclass(frozen=True)
class Candidate:
    """A classifier that looks at labels alone.

    Attributes:
      name: what tables call it.
      view: of `Views`.
      make: seed -> unfitted classifier.
      work: about how many seconds a fit takes, of a pool; what decides who is left out if the
        budget is short, so it is counted and not measured.
      family: of candidates of one family only the best becomes a member of the answer: two that
        hardly differ would count twice. Without a name, a family of its own.
    """

    name: str
    view: str
    make: Callable[[int], Any]
    work: Callable[[Any], float]
    family: str = ""
    uses_unlabelled: ClassVar[bool] = False

    def fit(self, pool, rows):
        """Fitted to the labels of `rows`."""
        return self.make(pool.seed).fit(pool.view(self.view)[rows], pool.label[rows])


class Transductive(Candidate):
    """A classifier that takes y == -1 for "no label"."""

    uses_unlabelled = True

    def fit(self, pool, rows):
        others = pool.unlabelled(rows)
        x = pool.view(self.view)[np.concatenate([rows, others])]
        return self.make(pool.seed).fit(x, np.concatenate([pool.label[rows], _none(others)]))


class Spreading(Candidate):
    """Label spreading, on a graph that is the same for all folds."""

    uses_unlabelled = True

    def fit(self, pool, rows):
        classifier = self.make(pool.seed)
        y = np.concatenate([_none(pool.label), _none(pool.few)])
        y[rows] = pool.label[rows]
        graph = pool.graph(self.view, classifier.metric)
        return classifier.fit(graph.points, y, graph)


def _none(rows):
    return np.full(len(rows), -1)


def _logistic(seed):  # noqa: ARG001
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000)


def _svm(seed):  # noqa: ARG001
    from sklearn.svm import SVC

    return SVC(C=10.0)


def _forest(seed):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, random_state=seed)


def _random_trees(seed):
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(100, random_state=seed)


def _discriminant(seed):  # noqa: ARG001
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


def _naive_bayes(seed):  # noqa: ARG001
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


def _self_training(seed):
    from sklearn.semi_supervised import SelfTrainingClassifier

    return SelfTrainingClassifier(_logistic(seed))


def _transductive_svm(seed):
    return TransductiveSVM(random_state=seed)


def _spreading(seed):  # noqa: ARG001
    return SpreadingClassifier()


def _spreading_by_angle(seed):  # noqa: ARG001
    return SpreadingClassifier(metric="cosine")


def _linear_work(pool):
    return 1e-6 * pool.num_labelled * pool.x.shape[1] * pool.num_classes + 0.02


def _tree_work(pool):
    return 0.15 + 1e-5 * pool.num_labelled * math.sqrt(pool.x.shape[1])


def _graph_work(pool):
    # The graph is made once; of the solution there is one column for every class.
    return 0.05 + 2e-6 * len(pool.few) * pool.num_classes


def _self_training_work(pool):
    return 10 * _linear_work(pool) + 2e-8 * len(pool.few) * pool.x.shape[1] * pool.num_classes


def _transductive_work(pool):
    return 0.1 + 1e-4 * len(pool.few) * pool.num_classes


SHALLOW = (
    Candidate("logistic regression", "scaled", _logistic, _linear_work),
    Candidate("naive Bayes", "scaled", _naive_bayes, _linear_work),
    Candidate("SVM", "components", _svm, _linear_work),
    Candidate("discriminant analysis", "scaled", _discriminant, _linear_work),
    Candidate("random forest", "plain", _forest, _tree_work),
    Candidate("extremely random trees", "plain", _random_trees, _tree_work),
    Spreading("label spreading", "components", _spreading, _graph_work, "spreading"),
    Spreading(
        "label spreading by angle", "components", _spreading_by_angle, _graph_work, "spreading"
    ),
    Transductive("self-training", "scaled", _self_training, _self_training_work),
    Transductive("TSVM", "components", _transductive_svm, _transductive_work),
)
ON_LATENTS = (
    Spreading("M1+label spreading", "latents", _spreading, _graph_work, "M1+spreading"),
    Spreading(
        "M1+label spreading by angle",
        "latents",
        _spreading_by_angle,
        _graph_work,
        "spreading on latents",
    ),
    Transductive("M1+TSVM", "latents", _transductive_svm, _transductive_work),
)
# Where nothing can be held out: which candidates, and the temperature of each.
UNTRIED = {
    "logistic regression": 1.0,
    "label spreading": 1.0,
    "extremely random trees": 1.0,
    "TSVM": 1.0,
}


def candidates_for(pool):
    """Those that suit the points."""
    return SHALLOW + (() if pool.levels is None else ON_LATENTS)
