"""Every other classifier: on M1's features, and the baselines that the models are compared with.

Each is a scikit-learn classifier of arrays: `fit(X, y)`, `predict`, `classes_`, and `predict_proba`
or, of margins, `decision_function`. One that learns from unlabelled points too says so by
`transductive = True`, and is given them with y == -1. `is_transductive`, `fit_classifier` and
`probabilities` are the place that asks for this.

Imports errors, storage, settings and models.
"""

import numpy as np
from scipy.special import softmax


def make_classifier(name, seed=0):
    """An unfitted classifier by name, as `m1.classifier` has it."""
    if name == "tsvm":
        from tfssl.classifiers.tsvm import TransductiveSVM

        return TransductiveSVM(kernel="rbf", random_state=seed)
    if name == "svm":
        from sklearn.svm import SVC

        return SVC(C=10.0)
    if name == "knn":
        from sklearn.neighbors import KNeighborsClassifier

        # By angles: better than by Euclid's distance on validation points of MNIST and of SVHN.
        return KNeighborsClassifier(n_neighbors=1, algorithm="brute", metric="cosine")
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def is_transductive(classifier):
    """Whether `fit` is to be given the unlabelled points too, with y == -1."""
    return getattr(classifier, "transductive", False)


def fit_classifier(classifier, features, label, unlabelled_features):
    """Fit on labelled features, and on unlabelled ones if the classifier can use them."""
    if not is_transductive(classifier):
        return classifier.fit(features, label)
    return classifier.fit(
        np.concatenate([features, unlabelled_features]),
        np.concatenate([label, np.full(len(unlabelled_features), -1)]),
    )


def probabilities(classifier, features):
    """[N, K] probabilities; of a margin classifier, the softmax of its margins, not calibrated."""
    if hasattr(classifier, "predict_proba"):
        return classifier.predict_proba(features)
    margins = classifier.decision_function(features)
    if margins.ndim == 1:
        margins = np.stack([-margins, margins], axis=1) / 2.0
    return softmax(margins, axis=1)
