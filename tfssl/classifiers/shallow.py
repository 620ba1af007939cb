"""Baselines without a network: nearest neighbour, SVM, TSVM, label spreading, self-training."""

import warnings

import numpy as np

from tfssl import classifiers

# The best of 3, 5, 7, 10 and 15 on validation points of the digits: a rival at its best.
LABEL_SPREADING_NEIGHBOURS = 10
# Of the TSVM; on validation points of MNIST better than all pixels, and than 500 features.
PRINCIPAL_COMPONENTS = 50
KERNEL_FEATURES = 1000


def fit(name, experiment):
    """Fit one of the baselines of this file: stored inputs [N, ...] -> [N, K]."""
    parts, preprocessing = experiment.split, experiment.preprocessing
    x, label = preprocessing(parts.x_labelled).numpy(), parts.label
    if name in ("tsvm", "label_spreading", "self_training"):
        x_unlabelled = preprocessing(parts.x_unlabelled).numpy()
        x = np.concatenate([x, x_unlabelled])
        label = np.concatenate([label, np.full(len(x_unlabelled), -1)])
    with warnings.catch_warnings():
        # Self-training may have no points to teach itself with: it is then what it starts from.
        warnings.filterwarnings("ignore", "y contains no")
        classifier = make_classifier(name, experiment.settings.seed, x.shape).fit(x, label)
    return lambda stored: probabilities(classifier, preprocessing(stored).numpy())


def make_classifier(name, seed, shape):
    """An unfitted classifier for inputs of this shape, [N, D]."""
    if name == "tsvm":
        return make_tsvm(seed, shape)
    if name == "label_spreading":
        from sklearn.semi_supervised import LabelSpreading

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
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    from tfssl.classifiers.tsvm import TransductiveSVM

    pca = PCA(min(PRINCIPAL_COMPONENTS, *shape), svd_solver="covariance_eigh")
    return make_pipeline(pca, TransductiveSVM(n_components=KERNEL_FEATURES, random_state=seed))


def make_self_training(shape):
    """Logistic regression on principal components that takes its surest guesses for labels."""
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.semi_supervised import SelfTrainingClassifier

    pca = PCA(min(PRINCIPAL_COMPONENTS, *shape), svd_solver="covariance_eigh")
    return make_pipeline(pca, SelfTrainingClassifier(classifiers.make_classifier("logistic")))


def probabilities(classifier, x):
    """[N, K]; uniform where label spreading has reached none of a point's neighbours."""
    with np.errstate(invalid="ignore"):
        found = classifiers.probabilities(classifier, x)
    return np.where(np.isnan(found), 1.0 / found.shape[1], found)
