"""What a careful person writes with scikit-learn alone: nine methods, each at its best.

A method is a function of x [N, D] (labelled and unlabelled training rows, numbers), y [N] (-1 for
"no label") and a seed; it returns a fitted classifier with `predict_proba` and `classes_`. What is
to be tuned is tuned by cross-validation over the labels.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

FOLDS = 5
INVERSE_PENALTIES = np.logspace(-3, 3, 7)
# With few labels many settings are equally good on held-out folds, and the first of them is taken:
# on the development sets a small grid that begins with the likeliest settings had fewer errors.
MARGIN_PENALTIES = (10.0, 1.0, 100.0)
WIDTHS = np.array([0.25, 1, 0.0625])  # gamma D: 1 is gamma="scale" of standardised columns
NEIGHBOURS = 10


class Standardised(ClassifierMixin, BaseEstimator):
    """A classifier of standardised columns. All training rows say what they are, not the labelled
    ones alone, of which some columns may have one value.

    Args:
      classifier: unfitted.
      unlabelled: whether it is fitted to the unlabelled rows too.
    """

    def __init__(self, classifier, unlabelled=False):
        self.classifier = classifier
        self.unlabelled = unlabelled

    def fit(self, x, y):
        self.scaler_ = StandardScaler().fit(x)
        rows = np.full(len(y), True) if self.unlabelled else y >= 0
        self.classifier.fit(self.scaler_.transform(x[rows]), y[rows])
        self.classes_ = self.classifier.classes_
        return self

    def predict_proba(self, x):
        return self.classifier.predict_proba(self.scaler_.transform(x))


def folds(y, seed):
    """Stratified folds over labels, as many as the smallest class allows."""
    count = min(FOLDS, int(np.bincount(y[y >= 0]).min()))
    return StratifiedKFold(count, shuffle=True, random_state=seed)


def logistic_regression(x, y, seed):
    grid = {"C": INVERSE_PENALTIES}
    tuned = GridSearchCV(
        LogisticRegression(max_iter=1000), grid, scoring="neg_log_loss", cv=folds(y, seed)
    )
    return Standardised(tuned).fit(x, y)


def support_vectors(x, y, seed):
    """The best SVM of a grid, calibrated."""
    return Standardised(calibrated(best_margin(x, y, seed), y, seed)).fit(x, y)


def best_margin(x, y, seed):
    """An unfitted SVM with the penalty and the width that do best on held-out folds."""
    grid = {"C": MARGIN_PENALTIES, "gamma": WIDTHS / x.shape[1]}
    found = Standardised(GridSearchCV(SVC(), grid, cv=folds(y, seed))).fit(x, y)
    return SVC(**found.classifier.best_params_)


def calibrated(classifier, y, seed):
    """Probabilities from decisions on held-out folds.

    On the development sets Platt's sigmoid had the lower log-loss with two classes, where a
    temperature grows too bold when all folds are right; with more classes it had the higher one.
    """
    method = "sigmoid" if y.max() == 1 else "temperature"
    return CalibratedClassifierCV(classifier, method=method, cv=folds(y, seed), ensemble=False)


def random_forest(x, y, seed):
    return RandomForestClassifier(300, random_state=seed).fit(x[y >= 0], y[y >= 0])


def boosted_trees(x, y, seed):
    # Leaves of 20 rows, the default, leave nothing to split of a few labels.
    trees = HistGradientBoostingClassifier(min_samples_leaf=3, max_bins=63, random_state=seed)
    return trees.fit(x[y >= 0], y[y >= 0])


def nearest_neighbour(x, y, seed):
    return Standardised(KNeighborsClassifier(1)).fit(x, y)


def label_spreading(x, y, seed):
    spreading = LabelSpreading(kernel="knn", n_neighbors=NEIGHBOURS, max_iter=1000)
    return Standardised(spreading, unlabelled=True).fit(x, y)


def self_training(x, y, seed):
    """The best SVM of the grid on the labels, which takes its surest guesses for labels."""
    teacher = calibrated(best_margin(x, y, seed), y, seed)
    return Standardised(SelfTrainingClassifier(teacher), unlabelled=True).fit(x, y)


def naive_bayes(x, y, seed):
    return GaussianNB().fit(x[y >= 0], y[y >= 0])


def discriminant_analysis(x, y, seed):
    analysis = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    return analysis.fit(x[y >= 0], y[y >= 0])


SIMPLE = {
    "logreg": logistic_regression,
    "svm": support_vectors,
    "forest": random_forest,
    "boosting": boosted_trees,
    "1nn": nearest_neighbour,
    "naive_bayes": naive_bayes,
    "lda": discriminant_analysis,
    "label_spreading": label_spreading,
    "self_training": self_training,
}
