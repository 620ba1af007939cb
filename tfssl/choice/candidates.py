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


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A classifier, and what a fit of it costs.

    Attributes:
      name: what tables call it.
      view: of `Views`.
      work: about how many seconds a fit takes, of a pool; what decides who is left out if the
        budget is short, so it is counted and not measured.
      family: of candidates of one family only the best becomes a member of the answer: two that
        hardly differ would count twice. Without a name, a family of its own.
    """

    name: str
    view: str
    work: Callable[[Any], float]
    family: str = ""
    uses_unlabelled: ClassVar[bool] = False

    def fit(self, pool, rows):
        """Fitted to the labels of `rows`; the others' are hidden."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Supervised(Candidate):
    """A classifier that looks at labels alone.

    Attributes:
      make: seed -> unfitted classifier.
    """

    make: Callable[[int], Any]

    def fit(self, pool, rows):
        return self.make(pool.seed).fit(pool.view(self.view)[rows], pool.label[rows])


class Transductive(Supervised):
    """A classifier that takes y == -1 for "no label"."""

    uses_unlabelled: ClassVar[bool] = True

    def fit(self, pool, rows):
        others = pool.unlabelled(rows)
        x = pool.view(self.view)[np.concatenate([rows, others])]
        return self.make(pool.seed).fit(x, np.concatenate([pool.label[rows], _none(others)]))


class Spreading(Supervised):
    """Label spreading, on a graph that is the same for all folds."""

    uses_unlabelled: ClassVar[bool] = True

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

    # It is fitted anew for every step: to follow each to the last digit takes five times as long.
    return SelfTrainingClassifier(_logistic(seed).set_params(tol=1e-3))


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
    return 0.02 + len(pool.few) * pool.num_classes * (6e-6 + 3e-8 * pool.x.shape[1])


def _transductive_work(pool):
    return 0.05 + 1e-5 * len(pool.few) * pool.num_classes


SHALLOW = (
    Supervised(name="logistic regression", view="scaled", make=_logistic, work=_linear_work),
    Supervised(name="naive Bayes", view="scaled", make=_naive_bayes, work=_linear_work),
    Supervised(name="SVM", view="components", make=_svm, work=_linear_work),
    Supervised(name="discriminant analysis", view="scaled", make=_discriminant, work=_linear_work),
    Supervised(name="random forest", view="plain", make=_forest, work=_tree_work),
    Supervised(name="extremely random trees", view="plain", make=_random_trees, work=_tree_work),
    Spreading(
        name="label spreading",
        view="components",
        make=_spreading,
        work=_graph_work,
        family="spreading",
    ),
    Spreading(
        name="label spreading by angle",
        view="components",
        make=_spreading_by_angle,
        work=_graph_work,
        family="spreading",
    ),
    Transductive(
        name="self-training", view="scaled", make=_self_training, work=_self_training_work
    ),
    Transductive(name="TSVM", view="components", make=_transductive_svm, work=_transductive_work),
)
ON_LATENTS = (
    Spreading(
        name="M1+label spreading",
        view="latents",
        make=_spreading,
        work=_graph_work,
        family="M1+spreading",
    ),
    Spreading(
        name="M1+label spreading by angle",
        view="latents",
        make=_spreading_by_angle,
        work=_graph_work,
        family="spreading on latents",
    ),
    Transductive(name="M1+TSVM", view="latents", make=_transductive_svm, work=_transductive_work),
)
# Where nothing can be held out: which candidates, and the temperature of each.
UNTRIED = {
    "logistic regression": 1.0,
    "label spreading": 1.0,
    "extremely random trees": 1.0,
    "TSVM": 1.0,
}


def shallow_candidates(pool):
    """Those that suit the points."""
    return SHALLOW + (() if pool.levels is None else ON_LATENTS)
