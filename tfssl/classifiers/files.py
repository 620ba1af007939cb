"""Fitted classifiers and networks on disk: data, never code.

Those of scikit-learn's kind by skops, networks by Keras.
"""

import zipfile

import numpy as np

from tfssl.errors import expect
from tfssl.storage.archives import check_archive, check_model, damaged
from tfssl.storage.files import atomic_path

# Besides what skops knows to be harmless. Of a tree that is only true once `_check_tree` has seen
# it: scikit-learn follows its nodes wherever they point.
TRUSTED = [
    "tfssl.classifiers.tsvm.TransductiveSVM",
    "tfssl.classifiers.spreading.SpreadingClassifier",
    "sklearn.tree._tree.Tree",
]


def save_classifier(path, classifier):
    import skops.io

    with atomic_path(path) as temporary:
        # Trees are mostly zeros and small integers: compressed, a forest is a tenth as large.
        skops.io.dump(classifier, temporary, compression=zipfile.ZIP_DEFLATED)


def load_classifier(path):
    import skops.io

    check_archive(path)
    with damaged(path):
        classifier = skops.io.load(path, trusted=TRUSTED)
        for tree in getattr(classifier, "estimators_", ()):
            _check_tree(tree.tree_, classifier.n_features_in_, len(classifier.classes_))
    return classifier


def _check_tree(tree, num_features, num_classes):
    """Fail unless every path through a tree of scikit-learn stays in it and ends in a leaf."""
    whole = 0 < tree.node_count <= tree.capacity
    expect(whole, "a tree must have the nodes that it counts", nodes=tree.node_count)
    left, right = tree.children_left, tree.children_right
    number = np.arange(tree.node_count)
    inner = left != -1
    onwards = (left > number) & (right > number) & (np.maximum(left, right) < tree.node_count)
    known = (tree.feature >= 0) & (tree.feature < num_features)
    good = (onwards & known)[inner].all() and (right[~inner] == -1).all()
    expect(good, "a tree must lead from every node to a leaf")
    expect(
        tree.value.shape == (tree.node_count, 1, num_classes),
        "a tree must have the shares of all classes",
        shape=tree.value.shape,
    )


def save_network(path, network):
    with atomic_path(path) as temporary:
        network.save(temporary)


def load_network(path):
    """One of our models, without its optimiser."""
    import keras

    from tfssl.models import WHOLE

    check_model(path, [keras.saving.get_registered_name(model) for model in WHOLE])
    with damaged(path):
        return keras.saving.load_model(path, compile=False, safe_mode=True)
