"""A small convolutional network on the labelled images alone."""

import keras
import numpy as np
import tensorflow as tf

from tfssl.classifiers import labelled_network
from tfssl.errors import expect
from tfssl.models.networks import child_seeds

STEPS = 1000
BATCH_SIZE = 50
LEARNING_RATE = 1e-3


def fit(experiment, verbose=False):
    """Fit the network to an `Experiment`: stored images [N, ...] -> [N, K]."""
    parts, source, seed = experiment.split, experiment.source, experiment.settings.seed
    shape = parts.x_labelled.shape[1:]
    expect(
        len(shape) in (2, 3),
        "the CNN needs images, [N, height, width] or [N, height, width, channels]",
        hint="Leave this baseline out.",
        shape=parts.x_labelled.shape,
    )
    height, width, *channels = shape
    image_shape = (height, width, *(channels or [1]))
    mean, deviation = np.mean(parts.x_labelled), np.std(parts.x_labelled) or 1.0

    def standardised(x):
        x = tf.reshape(tf.cast(x, tf.float32), [-1, *image_shape])
        return (x - mean) / deviation

    return labelled_network.fit(
        make_network(image_shape, source.num_classes, seed),
        (parts.x_labelled, parts.label),
        source.num_classes,
        seed,
        standardised,
        STEPS,
        BATCH_SIZE,
        LEARNING_RATE,
        verbose,
    )


def make_network(image_shape, num_classes, seed, filters=(16, 32), size=5, units=128, dropout=0.5):
    """Convolution and pooling, twice, and a hidden layer: images [batch, H, W, C] -> logits.

    Images of any size work: what pooling does not divide is padded.
    """
    seeds = iter(child_seeds(seed, 6))

    def start():
        return keras.initializers.HeNormal(seed=next(seeds))

    x = inputs = keras.Input(image_shape)
    for channels in filters:
        x = keras.layers.Conv2D(
            channels, size, padding="same", activation="relu", kernel_initializer=start()
        )(x)
        x = keras.layers.MaxPooling2D(padding="same")(x)
    x = keras.layers.Flatten()(x)
    x = keras.layers.Dropout(dropout, seed=next(seeds))(x)
    x = keras.layers.Dense(units, activation="relu", kernel_initializer=start())(x)
    x = keras.layers.Dropout(dropout, seed=next(seeds))(x)
    outputs = keras.layers.Dense(num_classes, kernel_initializer=start())(x)
    return keras.Model(inputs, outputs)
