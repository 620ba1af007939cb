"""Baselines without a network: nearest neighbour, SVM, TSVM, label spreading, self-training."""

import numpy as np
from sklearn import semi_supervised
from sklearn.pipeline import Pipeline

from tfssl import classifiers

# The best of 3, 5, 7, 10 and 15 on validation points of the digits: a rival at its best.
LABEL_SPREADING_NEIGHBOURS = 10
# Of the TSVM; on validation points of MNIST better than all pixels, and than 500 features.
PRINCIPAL_COMPONENTS = 50
KERNEL_FEATURES = 1000


class TransductivePipeline(Pipeline):
    """A pipeline whose last step is fitted with y == -1 for "no label"."""

    transductive = True  # fit is to be given the unlabelled points too


class LabelSpreading(semi_supervised.LabelSpreading):
    """scikit-learn's; uniform where the labels have reached none of a point's neighbours."""

    transductive = True  # fit is to be given the unlabelled points too

    def predict_proba(self, X):
        """Probabilities [n, K]."""
        with np.errstate(invalid="ignore"):
            found = super().predict_proba(X)
        return np.where(np.isnan(found), 1.0 / found.shape[1], found)


def make_classifier(name, seed, shape):
    """An unfitted classifier by name, for all training inputs together of this shape, [N, D]."""
    if name == "tsvm":
        return make_tsvm(seed, shape)
    if name == "label_spreading":
        return LabelSpreading(kernel="knn", n_neighbors=LABEL_SPREADING_NEIGHBOURS)
    if name == "self_training":
        return make_self_training(shape)
    if name == "knn":
        from sklearn.neighbors import KNeighborsClassifier

        # By Euclid's distance between inputs, the textbook's; on M1's features it is by angle.
        return KNeighborsClassifier(n_neighbors=1, algorithm="brute")
    return classifiers.make_classifier(name)


def make_tsvm(seed, shape):
    """The transductive SVM on the first principal components of x."""
    from tfssl.classifiers.tsvm import TransductiveSVM

    return _on_components(TransductiveSVM(n_components=KERNEL_FEATURES, random_state=seed), shape)


def make_self_training(shape):
    """Logistic regression on principal components that takes its surest guesses for labels."""
    logistic = classifiers.make_classifier("logistic")
    return _on_components(semi_supervised.SelfTrainingClassifier(logistic), shape)


def _on_components(classifier, shape):
    from sklearn.decomposition import PCA

    pca = PCA(min(PRINCIPAL_COMPONENTS, *shape), svd_solver="covariance_eigh")
    return TransductivePipeline([("components", pca), ("classifier", classifier)])
