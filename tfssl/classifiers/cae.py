"""The contractive auto-encoder: features that change little with x, then a classifier on them.

  h = sigmoid(x W + b)                          encoder
  l = h W^T + c                                 decoder, with the encoder's weights; logits
  loss = sum_d CE(x_d, sigmoid(l_d)) + lambda |dh/dx|_F^2

Layers are pretrained one upon the other on every training input, without labels. A classifier that
starts with their weights is then fitted to the labelled points.

Reference: S. Rifai, P. Vincent, X. Muller, X. Glorot and Y. Bengio, "Contractive auto-encoders:
explicit invariance during feature extraction", ICML 2011.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from tfssl.classifiers.labelled_network import LabelledNetwork
from tfssl.classifiers.minibatches import UNLABELLED_STREAM, shuffled
from tfssl.errors import InputError, expect
from tfssl.models.networks import child_seeds, dense
from tfssl.models.optimizers import FusedAdam, HoldThenDecay
from tfssl.storage.archives import damaged, read_arrays
from tfssl.storage.files import atomic_path


@dataclass(frozen=True)
class Pretraining:
    """Settings of the encoder.

    Attributes:
      units: the size of each layer.
      penalty_weight: lambda.
      steps: how many for each layer.
      batch_size: inputs per step.
      learning_rate: Adam's; held for the first half of the steps, then decays to zero.
      seed: seed of the initial weights and of the order; not the classifier's, so that classifiers
        of the same inputs can share the encoder.
    """

    units: tuple[int, ...] = (500, 500)
    penalty_weight: float = 1.0
    steps: int = 5000
    batch_size: int = 100
    learning_rate: float = 1e-3
    seed: int = 0


def contractive_penalty(h, kernel):
    """|dh/dx|_F^2 = sum_j (h_j (1 - h_j))^2 |W_j|^2 of h = sigmoid(x W + b).

    Args:
      h: [batch, H], the features.
      kernel: W, [D, H]; W_j is its column j.

    Returns:
      penalty: [batch].
    """
    return tf.linalg.matvec(tf.square(h * (1.0 - h)), tf.reduce_sum(tf.square(kernel), axis=0))


class ContractiveAutoencoder(keras.Model):
    """One layer; a call gives the logits of the reconstruction and adds the penalty to the loss.

    Args:
      input_dim: D, the size of x.
      units: H, the size of h.
      penalty_weight: lambda.
      seed: seed of the initial weights.
    """

    def __init__(self, input_dim, units, penalty_weight, seed=0):
        super().__init__()
        self.penalty_weight = penalty_weight
        self.encoder = dense(units, input_dim, seed, activation="sigmoid")
        self.decoder_bias = self.add_weight(shape=(input_dim,), initializer="zeros")

    def call(self, x):
        h, kernel = self.encoder(x), tf.convert_to_tensor(self.encoder.kernel)
        self.add_loss(self.penalty_weight * tf.reduce_mean(contractive_penalty(h, kernel)))
        return tf.matmul(h, kernel, transpose_b=True) + self.decoder_bias


def reconstruction_loss(x, logits):
    """sum_d CE(x_d, sigmoid(l_d)), [batch]."""
    return tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(x, logits), axis=-1)


def pretrain(x, settings, verbose=False):
    """The encoder of the inputs x [N, D] in [0, 1], whatever their order: [(W, b), ...]."""
    low, high = float(x.min()), float(x.max())
    expect(
        low >= 0 and high <= 1,
        "the CAE needs inputs in [0, 1], such as images",
        hint="Leave this baseline out.",
        smallest=low,
        largest=high,
    )
    x, layers = x[np.argsort(_row_digests(x))], []
    seeds = child_seeds(settings.seed, len(settings.units))
    for units, seed in zip(settings.units, seeds, strict=True):
        autoencoder = ContractiveAutoencoder(x.shape[1], units, settings.penalty_weight, seed)
        schedule = HoldThenDecay(settings.learning_rate, settings.steps, decay_start=0.5)
        autoencoder.compile(FusedAdam(schedule), reconstruction_loss)
        dataset = shuffled((x,), settings.batch_size, (seed, UNLABELLED_STREAM))
        autoencoder.fit(
            dataset.map(lambda x: (x, x)),
            steps_per_epoch=settings.steps,
            shuffle=False,
            verbose=int(verbose),
        )
        layers.append(tuple(autoencoder.encoder.get_weights()))
        # The next layer's inputs, in parts to bound the memory.
        parts = np.array_split(x, -(-len(x) // 1000))
        x = np.concatenate([autoencoder.encoder(part).numpy() for part in parts])
    return layers


def pretrain_once(x, settings, folder, verbose=False):
    """`pretrain`, or what it gave before for these settings and inputs, kept in a folder."""
    digest = hashlib.sha256(json.dumps(asdict(settings)).encode())
    digest.update(np.sort(_row_digests(x)).tobytes())
    path = Path(folder) / f"cae_{digest.hexdigest()[:16]}.npz"
    if path.exists():
        return _read(path, len(settings.units))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create {folder}: {error.strerror}.") from None
    layers = pretrain(x, settings, verbose)
    with atomic_path(path) as temporary:
        np.savez(temporary, *(array for pair in layers for array in pair))
    return layers


def make_network(layers, num_classes, seed, dropout=0.5):
    """A classifier that starts with the encoder's weights: x [batch, D] -> logits."""
    output_seed, *dropout_seeds = child_seeds(seed, len(layers) + 1)
    x = inputs = keras.Input((layers[0][0].shape[0],))
    for (kernel, bias), dropout_seed in zip(layers, dropout_seeds, strict=True):
        layer = dense(len(bias), len(kernel), 0, activation="sigmoid")
        layer.set_weights([kernel, bias])
        x = keras.layers.Dropout(dropout, seed=dropout_seed)(layer(x))
    return keras.Model(inputs, dense(num_classes, x.shape[-1], output_seed)(x))


class ContractiveClassifier(LabelledNetwork):
    """An encoder of all X [N, ...] in [0, 1], and a classifier upon it of those that have a label.

    Args:
      pretraining: settings of the encoder, `Pretraining()` if None.
      cache: folder to keep the encoder in, or None.
      steps: minibatches to train the classifier on.
      batch_size: labelled points per step.
      learning_rate: Adam's; held for the first half of the steps, then decays to zero.
      random_state: seed of the last layer's weights, of dropout and of the order.
      verbose: whether to show progress.

    Attributes:
      classes_, input_shape_, network_: see `LabelledNetwork`.
    """

    transductive = True  # fit is to be given the unlabelled points too

    def __init__(
        self,
        pretraining=None,
        cache=None,
        steps=1000,
        batch_size=50,
        learning_rate=3e-3,
        random_state=0,
        verbose=False,
    ):
        self.pretraining = pretraining
        self.cache = cache
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    def _start(self, X, labelled):  # noqa: ARG002
        x, settings = self._inputs(X), self.pretraining or Pretraining()
        if self.cache is None:
            layers = pretrain(x, settings, self.verbose)
        else:
            layers = pretrain_once(x, settings, self.cache, self.verbose)
        return make_network(layers, len(self.classes_), self.random_state)

    def _inputs(self, X):
        return np.reshape(X, (len(X), -1)).astype(np.float32)


def _row_digests(x):
    """[N] digests, one per row."""
    return np.array([hashlib.sha256(row.tobytes()).digest() for row in x])


def _read(path, depth):
    try:
        with damaged(path):
            arrays = read_arrays(path)
            return [(arrays[f"arr_{2 * i}"], arrays[f"arr_{2 * i + 1}"]) for i in range(depth)]
    except InputError as error:
        raise InputError(f"{error} Remove it to pretrain again.") from None
