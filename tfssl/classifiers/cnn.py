"""A small convolutional network on the labelled images alone."""

import keras
import numpy as np

from tfssl.classifiers.labelled_network import LabelledNetwork
from tfssl.errors import expect
from tfssl.models.networks import child_seeds


class ConvolutionalClassifier(LabelledNetwork):
    """Fitted to images X [N, height, width] or [N, height, width, channels] as they are stored.

    They are standardised by one mean and one deviation, those of all pixels that have a label.
    Images with y == -1 are left out.

    Args:
      steps: minibatches to train on.
      batch_size: labelled images per step.
      learning_rate: Adam's; held for the first half of the steps, then decays to zero.
      random_state: seed of the initial weights, of dropout and of the order.
      verbose: whether to show progress.

    Attributes:
      classes_, input_shape_, network_: see `LabelledNetwork`.
      mean_, deviation_: of the labelled pixels.
    """

    def __init__(
        self, steps=1000, batch_size=50, learning_rate=1e-3, random_state=0, verbose=False
    ):
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    def _start(self, X, labelled):
        expect(
            X.ndim in (3, 4),
            "the CNN needs images, [N, height, width] or [N, height, width, channels]",
            hint="Leave this baseline out.",
            shape=X.shape,
        )
        pixels = X[labelled]
        self.mean_, self.deviation_ = np.mean(pixels), np.std(pixels) or 1.0
        return make_network(self._image_shape(), len(self.classes_), self.random_state)

    def _inputs(self, X):
        images = np.reshape(X, (-1, *self._image_shape())).astype(np.float32)
        return (images - np.float32(self.mean_)) / np.float32(self.deviation_)

    def _image_shape(self):
        height, width, *channels = self.input_shape_
        return height, width, *(channels or [1])


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
