"""A forest of scikit-learn's trees as TensorFlow operations: gathers, from root to leaf.

All nodes of all trees lie in one list. A node has a feature, a threshold and two children, where x
goes if the feature is at most the threshold and where it goes if not; a leaf is its own child. As
many steps as the deepest tree has levels lead every x to a leaf of every tree.
"""

import numpy as np
import tensorflow as tf


def forest_graph(forest, dtype=tf.float64):
    """The function x [N, F] -> the mean of the trees' shares of the classes, [N, K] in `dtype`.

    Args:
      forest: a fitted `RandomForestClassifier` or `ExtraTreesClassifier`.
      dtype: the floating type to compute in; x has been rounded to float32, as scikit-learn has it.
    """
    trees = [estimator.tree_ for estimator in forest.estimators_]
    counts = [tree.node_count for tree in trees]
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    own = np.arange(sum(counts))
    left, right = (
        np.concatenate(
            [getattr(tree, f"children_{side}") + i for tree, i in zip(trees, first, strict=True)]
        )
        for side in ("left", "right")
    )
    leaf = np.concatenate([tree.children_left for tree in trees]) == -1
    children = np.stack([np.where(leaf, own, left), np.where(leaf, own, right)], axis=1)
    feature = np.maximum(np.concatenate([tree.feature for tree in trees]), 0)
    threshold = np.concatenate([tree.threshold for tree in trees])
    value = np.concatenate([tree.value[:, 0] for tree in trees])
    # Of float32 numbers those that are at most t are at most the next one below t.
    rounded = threshold.astype(np.float32)
    low = np.nextafter(rounded, np.float32(-np.inf))
    threshold = np.where(rounded > threshold, low, rounded)

    feature, children = (_constant(a, tf.int32) for a in (feature, children.ravel()))
    threshold, value = _constant(threshold, tf.float32), _constant(value, dtype)
    roots, depth = first.astype(np.int32), max(tree.max_depth for tree in trees)

    def shares(x):
        x = tf.cast(x, tf.float32)
        node = tf.tile(roots[np.newaxis], [tf.shape(x)[0], 1])
        for _ in range(depth):
            seen = tf.gather(x, tf.gather(feature, node), batch_dims=1)
            beyond = tf.cast(seen > tf.gather(threshold, node), tf.int32)
            node = tf.gather(children, 2 * node + beyond)
        return tf.reduce_mean(tf.gather(value, node), axis=1)

    return shares


def _constant(array, dtype):
    """As a variable it is stored once however many graphs use it."""
    return tf.Variable(array, dtype=dtype, trainable=False)
