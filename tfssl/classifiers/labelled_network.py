"""The part that the networks among the baselines share: fit on labelled points alone."""

import keras
import tensorflow as tf

from tfssl.data import batches
from tfssl.models.optimizers import FusedAdam, HoldThenDecay


def fit(network, labelled, num_classes, seed, transform, steps, batch_size, rate, verbose=False):
    """Fit logits(x) for a fixed number of steps: stored inputs [N, ...] -> [N, K].

    Args:
      network: a Keras model, transformed inputs -> [batch, K] logits.
      labelled: (x, label), stored inputs [N, ...] and integers [N].
      num_classes: K.
      seed: seed of the order.
      transform: stored inputs -> what the network sees.
      steps: how many; the rate is held for the first half of them, then decays to zero.
      batch_size: labelled points per step.
      rate: Adam's.
      verbose: whether to show progress.
    """
    dataset = batches.semi_supervised(labelled, None, num_classes, (batch_size, 0), seed, transform)
    network.compile(
        FusedAdam(HoldThenDecay(rate, steps, decay_start=0.5)),
        keras.losses.CategoricalCrossentropy(from_logits=True),
    )
    pairs = dataset.map(lambda batch: batch["labelled"])
    network.fit(pairs, steps_per_epoch=steps, shuffle=False, verbose=int(verbose))
    return lambda x: tf.nn.softmax(network(transform(x), training=False)).numpy()
