"""What the models share: one training step, one evaluation step, honest metrics, seeded noise.

A model implements `batch_losses(batch, seed, training)`, which combines the objectives and returns
named scalar means with "loss" among them. The steps below contain no maths.
"""

import keras
import tensorflow as tf

from tfssl.models import noise
from tfssl.models.distributions import standard_normal

# Batch b of an evaluation uses stream -1 - b of the noise; training step t uses stream t.
FIRST_EVALUATION_STREAM = -1


# What the error says that a step raises when a number in it is not finite.
NOT_FINITE = "a loss or a gradient is not finite"


def mean(values):
    """Mean over the batch; 0 for an empty one, which the last replica of an uneven split gets."""
    return tf.math.divide_no_nan(tf.reduce_sum(values), tf.cast(tf.size(values), values.dtype))


class LossMeans(keras.metrics.Metric):
    """Means of named losses over an epoch, all in one variable: one update a step, not one each.

    Args:
      loss_names: the losses to follow; one that a batch does not have counts as 0.

    Attributes:
      batches: how many were added since the last reset; on every replica the same number.
    """

    def __init__(self, loss_names):
        super().__init__(name="losses")
        self.loss_names = loss_names
        self.totals = self.add_weight(shape=(len(loss_names) + 1,), initializer="zeros")
        self.batches = self.add_variable(
            (), "zeros", dtype="int32", aggregation="only_first_replica", name="batches"
        )

    def update_state(self, losses, rows):
        values = [tf.cast(losses.get(name, 0.0), tf.float32) for name in self.loss_names]
        self.totals.assign_add(tf.stack([*values, 1.0]) * tf.cast(rows, tf.float32))
        self.batches.assign_add(1)

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
    # Of a model that is evaluated without having been compiled.
    _stage = ""
    _only = None
    # Whether there is a q(y|x), and so p(x|y,...): M1 has none.
    has_classes = True
    # Those that contain -log p(x), so that a change of the units of x adds to them.
    density_losses: tuple[str, ...] = ()
    # What `latents` gives.
    latents_name = "E[z|x]"

    @property
    def style_dim(self):
        """The size of what is left of x beside its class: of z, of the stack's z2."""
        return self.latent_dim

    @property
    def prior_z(self):
        """p(z) = N(0, I)."""
        return standard_normal(self.latent_dim)

    @property
    def noise_dim(self):
        """The size of epsilon in `log_weights`."""
        return self.latent_dim

    def class_features(self, x):
        """What points are compared by where their classes count, [batch, F]: their latents."""
        return self.latents(x)

    def compile(self, *args, stage="", kl_warmup_steps=0, only=None, **kwargs):
        """As Keras', and what `begin` takes."""
        super().compile(*args, **kwargs)
        self.begin(stage, kl_warmup_steps, only)

    def begin(self, stage="", kl_warmup_steps=0, only=None):
        """Set what belongs to a training and not to the model, before its first step is traced.

        Args:
          stage: the training's name: each has noise of its own.
          kl_warmup_steps: steps in which the weight of M1's KL rises to 1.
          only: "classifier" if it is M2's q(y|x) alone that learns, or None.
        """
        self._stage = stage
        self.kl_warmup_steps = kl_warmup_steps
        self._only = only

    def _track_losses(self):
        """Follow the loss terms; called at the end of a subclass's `__init__`."""
        self._means = LossMeans(self.loss_names)

    @property
    def metrics(self):
        return [self._means]

    def without_optimizer(self):
        """What to keep of a trained model: an uncompiled copy, in float32 as its weights are."""
        copy = type(self).from_config({**self.get_config(), "dtype": "float32"})
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
        gradients = tape.gradient(scaled_loss, self.trained)
        means = self._follow(losses, batch)
        # The weights stay as they were before a step that fails.
        with tf.control_dependencies([self._expect_finite(means, gradients)]):
            self.optimizer.apply_gradients(zip(gradients, self.trained, strict=True))
            self.after_step(losses)
        return means

    @property
    def trained(self):
        """The variables that this training changes by their gradients."""
        return self.trainable_variables

    def after_step(self, losses):
        """Change what has no gradient, by what `batch_losses` gave; nothing here."""

    def test_step(self, batch):
        # Keras sets the count back to 0 before it evaluates.
        stream = FIRST_EVALUATION_STREAM - tf.convert_to_tensor(self._means.batches)
        losses = self.batch_losses(batch, self._step_seed(stream), training=False)
        return self._follow(losses, batch)

    def _expect_finite(self, means, gradients):
        """An operation that fails unless the losses and the gradients are finite.

        Of the gradients it looks at the biases' alone, which are few: each is the sum of what flows
        back into its layer. In XLA it does nothing; there the end of the epoch tells.

        Args:
          means: what `_follow` gave: a loss that is not finite makes its mean so until the epoch
            ends, when `faulty_terms` reads which one it was.
          gradients: one per trainable variable.
        """
        watched = list(means.values())
        # float16's scaled gradients overflow now and then; their optimizer skips such a step.
        if not isinstance(self.optimizer, keras.optimizers.LossScaleOptimizer):
            watched += [tf.reduce_sum(g) for g in gradients if g.shape.rank == 1]
        return tf.debugging.Assert(tf.math.is_finite(tf.add_n(watched)), [NOT_FINITE])

    def faulty_terms(self):
        """Names of the losses that are not finite; of none, a gradient was it."""
        finite = tf.math.is_finite(self._means.totals)[:-1].numpy()
        return [n for n, good in zip(self.loss_names, finite, strict=True) if not good]

    def _step_seed(self, step):
        # The noise is a function of seed, stage and step alone, so a resumed run repeats it.
        seed = noise.stream(self.seed, self._stage)
        return noise.fold(tf.constant([seed, 0], tf.int32), step)

    def _follow(self, losses, batch):
        """Add the losses to the epoch's means and return these."""
        self._means.update_state(losses, rows=tf.shape(tf.nest.flatten(batch)[-1])[0])
        return self._means.result()
