"""A blend as TensorFlow operations: views, members, temperatures, mean and shares."""

import math
from dataclasses import replace

import numpy as np
import tensorflow as tf

from tfssl.blends.blend import is_network
from tfssl.export.classifier_graphs import classifier_graph

TINY = np.finfo(np.float32).tiny


def blend_graph(blend, dtype=tf.float64):
    """The function x [N, D] -> scores [N, K], unnormalised log p(y|x) in `dtype`.

    Its softmax equals the `Blend` itself.

    Args:
      blend: the `Blend`.
      dtype: the floating type that members which are no networks compute in.
    """
    # As a variable the matrix is stored once however many graphs use it.
    views = replace(blend.views, axes=tf.Variable(blend.views.axes, trainable=False))
    graphs = [member_graph(member.classifier, dtype) for member in blend.members]
    names = sorted({member.view for member in blend.members})
    more_common = np.log(blend.shares / blend.labelled_shares)

    def scores(x):
        seen = {name: views(name, x) for name in names}
        mean = tf.add_n(
            [
                member.weight * tf.nn.softmax(_log_p(graph(seen[member.view])) / member.temperature)
                for member, graph in zip(blend.members, graphs, strict=True)
            ]
        )
        log_p = tf.math.log(tf.maximum(mean, TINY))
        return log_p / blend.temperature + tf.constant(more_common, dtype)

    return scores


def member_graph(classifier, dtype):
    """The function of a view [N, F] -> scores [N, K] in `dtype`."""
    if not is_network(classifier):
        return classifier_graph(classifier, dtype)
    return lambda x: tf.cast(classifier.classify(x).logits_parameter(), dtype)


def _log_p(scores):
    """As `classifiers.temperature.log_scores` has it."""
    return tf.maximum(tf.nn.log_softmax(scores), math.log(TINY))
