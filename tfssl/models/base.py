"""What the models share: one training step, one evaluation step, honest metrics, seeded noise.

A model implements `batch_losses(batch, seed, training)`, which combines the objectives and returns
named scalar means with "loss" among them. The steps below contain no maths.
"""

import keras
import tensorflow as tf

from tfssl import distributions, noise
from tfssl.errors import expect

# The stream of noise that evaluation uses; training step t uses stream t.
EVALUATION_STREAM = -1

LIKELIHOODS = ("bernoulli", "binomial", "gaussian", "isotropic")


def mean(values):
    """Mean over the batch; 0 for an empty one, which the last replica of an uneven split gets."""
    return tf.math.divide_no_nan(tf.reduce_sum(values), tf.cast(tf.size(values), values.dtype))


def make_likelihood(name, dim, input_dim, total_count, seed):
    """The distribution layer of p(x|...) by name: one of `LIKELIHOODS`."""
    if name == "bernoulli":
        return distributions.Bernoulli(dim, input_dim, seed=seed)
    if name == "binomial":
        return distributions.Binomial(dim, input_dim, total_count=total_count, seed=seed)
    if name == "isotropic":
        return distributions.IsotropicGaussian(dim, input_dim, seed=seed)
    expect(name == "gaussian", f"`likelihood` must be one of {LIKELIHOODS}", likelihood=name)
    return distributions.DiagonalGaussian(dim, input_dim, seed=seed)


class LossMeans(keras.metrics.Metric):
    """Means of named losses over an epoch, all in one variable: one update a step, not one each.

    Args:
      loss_names: the losses to follow; one that a batch does not have counts as 0.
    """

    def __init__(self, loss_names):
        super().__init__(name="losses")
        self.loss_names = loss_names
        self.totals = self.add_weight(shape=(len(loss_names) + 1,), initializer="zeros")

    def update_state(self, losses, rows):
        values = [tf.cast(losses.get(name, 0.0), tf.float32) for name in self.loss_names]
        self.totals.assign_add(tf.stack([*values, 1.0]) * tf.cast(rows, tf.float32))

    def result(self):
        *totals, rows = tf.unstack(tf.convert_to_tensor(self.totals))
        means = tf.math.divide_no_nan(totals, rows)
        return dict(zip(self.loss_names, tf.unstack(means), strict=True))


class GenerativeModel(keras.Model):
    """Base of M1, M2 and the stack.

    Subclasses set `loss_names`, the terms that `batch_losses` returns, and store `likelihood` (the
    name of p(x|...)) and `seed`.
    """

    loss_names: tuple[str, ...] = ("loss",)
    # Those that contain -log p(x), so that a change of the units of x adds to them.
    density_losses: tuple[str, ...] = ()

    def _track_losses(self):
        """Follow the loss terms; called at the end of a subclass's `__init__`."""
        self._means = LossMeans(self.loss_names)

    @property
    def metrics(self):
        return [self._means]

    def without_optimizer(self):
        """An uncompiled copy: what to keep of a trained model."""
        copy = type(self).from_config(self.get_config())
        copy.set_weights(self.get_weights())
        return copy

    def batch_losses(self, batch, seed, training):
        """Named loss terms of a batch, each a scalar mean in nats."""
        raise NotImplementedError

    def observe(self, x, seed):
        """x as one training step sees it: [batch, D] -> [batch, D].

        Under a Bernoulli likelihood an intensity in [0, 1] is the probability that the pixel is on,
        and every step draws the binary image afresh. Binary images stay as they are.
        """
        if self.likelihood != "bernoulli":
            return x
        return tf.cast(noise.uniform(tf.shape(x), seed) < x, x.dtype)

    def train_step(self, batch):
        step = self.optimizer.iterations
        with tf.GradientTape() as tape:
            losses = self.batch_losses(batch, self._step_seed(step), training=True)
            # The optimizer adds the replicas' gradients up; the loss is their mean.
            replicas = tf.distribute.get_strategy().num_replicas_in_sync
            scaled_loss = self.optimizer.scale_loss(losses["loss"] / replicas)
        gradients = tape.gradient(scaled_loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return self._follow(losses, batch)

    def test_step(self, batch):
        losses = self.batch_losses(batch, self._step_seed(EVALUATION_STREAM), training=False)
        return self._follow(losses, batch)

    def _step_seed(self, step):
        # The noise is a function of the seed and the step alone, so a resumed run repeats it.
        return noise.fold(tf.constant([self.seed, 0], tf.int32), step)

    def _follow(self, losses, batch):
        """Add the losses to the epoch's means and return these."""
        self._means.update_state(losses, rows=tf.shape(tf.nest.flatten(batch)[-1])[0])
        return self._means.result()
