"""M1+M2, the stack: M2 on the latent features of a trained M1.

Generative process              Inference model
  y        ~ Cat(pi)              q(z1|x)     of the frozen M1
  z2       ~ N(0, I)              q(y|z1)     of M2
  z1|y,z2  ~ p(z1|y,z2)           q(z2|z1,y)  of M2
  x|z1     ~ p(x|z1)

Kingma et al. (2014), section 2. Latent dimensions that M1 does not use carry noise only and are
kept from M2; they keep their prior N(0, 1).
"""

import keras
import numpy as np
import tensorflow as tf

from tfssl.errors import expect
from tfssl.models import distributions, noise, objectives
from tfssl.models.base import GenerativeModel
from tfssl.models.m1 import M1
from tfssl.models.m2 import M2

# The authors' threshold on the standard deviation of E[z1|x] over the data.
ACTIVE_THRESHOLD = 0.1


def active_dimensions(latent_means, threshold=ACTIVE_THRESHOLD):
    """Indices of the latent dimensions whose posterior mean varies over the data.

    Args:
      latent_means: [N, latent_dim], E[z1|x] for the training points.
      threshold: the least standard deviation of a dimension in use.

    Returns:
      active: list of indices, in order.
    """
    active = np.flatnonzero(np.std(latent_means, axis=0) > threshold)
    expect(
        active.size > 0,
        f"M1 must use at least one latent dimension (std of E[z1|x] above {threshold})",
        hint="Train M1 for longer, or check that its likelihood fits the data.",
        largest_std=float(np.max(np.std(latent_means, axis=0))),
    )
    return active.tolist()


@keras.saving.register_keras_serializable("tfssl")
class LatentM2(M2):
    """M2 of z1, given q(z1|x) as its parameters side by side: x = [loc | scale], [batch, 2 D].

    Every training step draws z1 ~ N(loc, scale^2) afresh; prediction uses the mean. q(z1|x) does
    not change while M2 learns, so it can be computed once for the whole training set.

    Args:
      *args, **kwargs: as in `M2`.
      noise_scale: what `scale` is multiplied by in these draws. 1 is the paper's; wider draws
        regularise the classifier where M1's posterior is narrow and labels are few.
    """

    def __init__(self, *args, noise_scale=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        expect(noise_scale >= 0, "`noise_scale` must not be negative", noise_scale=noise_scale)
        self.noise_scale = noise_scale

    def observe(self, x, seed):
        loc, scale = tf.split(x, 2, axis=-1)
        return loc + self.noise_scale * scale * noise.normal(tf.shape(loc), seed)

    def expected(self, x):
        return tf.split(x, 2, axis=-1)[0]

    def get_config(self):
        return {**super().get_config(), "noise_scale": self.noise_scale}


@keras.saving.register_keras_serializable("tfssl")
class StackedM1M2(GenerativeModel):
    """M1+M2. A call gives q(y|x).

    `fit` takes pixels and runs M1's encoder at every step; `m2.fit` on `features(x)`, computed
    once, minimises the same loss for less.

    Args:
      m1: a trained `M1`; it is frozen.
      m2: a `LatentM2` with `input_dim` = the number of active dimensions.
      active: indices of M1's latent dimensions that M2 sees, from `active_dimensions`.
    """

    loss_names = M2.loss_names
    latents_name = "E[z1|x] of M1"

    def __init__(self, m1, m2, active, **kwargs):
        super().__init__(**kwargs)
        expect(
            m2.input_dim == len(active),
            "`m2.input_dim` must equal the number of active dimensions",
            input_dim=m2.input_dim,
            active=len(active),
        )
        self.m1 = m1
        self.m1.trainable = False
        self.m2 = m2
        self.active = [int(i) for i in active]
        self.inactive = [i for i in range(m1.latent_dim) if i not in set(self.active)]
        self.seed = m2.seed
        self._track_losses()
        self.built = True

    @property
    def likelihood(self):
        """The name of p(x|z1)."""
        return self.m1.likelihood

    @property
    def num_classes(self):
        return self.m2.num_classes

    @property
    def style_dim(self):
        return self.m2.latent_dim

    @property
    def prior_y(self):
        return self.m2.prior_y

    @property
    def prior_z2(self):
        return self.m2.prior_z

    def without_optimizer(self):
        m1, m2 = self.m1.without_optimizer(), self.m2.without_optimizer()
        return type(self)(m1, m2, self.active)

    def features(self, x):
        """The parameters of q(z1|x) for the active dimensions, [..., 2 D]: [loc | scale]."""
        q_z1 = self.m1.encode(x).distribution
        active = [tf.gather(p, self.active, axis=-1) for p in (q_z1.loc, q_z1.scale)]
        return tf.concat(active, axis=-1)

    def batch_losses(self, batch, seed, training):
        on_features = {name: _with_inputs(self.features, part) for name, part in batch.items()}
        return self.m2.batch_losses(on_features, seed, training)

    def after_step(self, losses):
        self.m2.after_step(losses)

    def classify(self, x):
        """q(y|x) = q(y|E[z1|x]): x [..., D] -> a distribution over one-hot y."""
        return self.m2.classify(self.m2.expected(self.features(x)))

    def decode(self, z1):
        """p(x|z1), z1 [..., M1's latent_dim]."""
        return self.m1.decode(z1)

    def joint_log_prob(self, x, y, z1, z2):
        """log p(x, y, z1, z2) = log p(y) p(z2) p(z1|y,z2) p(x|z1), [...]; z1 has all dimensions."""
        active = tf.gather(z1, self.active, axis=-1)
        log_p = self.m2.joint_log_prob(active, y, z2) + self.m1.log_p_x(x, z1)
        if not self.inactive:
            return log_p
        prior = distributions.standard_normal(len(self.inactive))
        return log_p + prior.log_prob(tf.gather(z1, self.inactive, axis=-1))

    @property
    def noise_dim(self):
        """The size of epsilon in `log_weights`: z1's and z2's."""
        return self.m1.latent_dim + self.m2.latent_dim

    def proposal(self, x):
        """What `log_weights` draws z1 from, q(z1|x): [batch, M1's latent_dim]."""
        return self.m1.encode(x)

    def log_weights(self, x, q_z1, epsilon):
        """log p(x, y, z1, z2) - log q(z1|x) q(z2|z1,y) at one draw: the mean weight is p(x, y).

        Args:
          x: [batch, D].
          q_z1: `proposal(x)`.
          epsilon: [batch, noise_dim], shared by the classes.

        Returns:
          log_weights: [batch, K], for every y.
        """
        epsilon1, epsilon2 = tf.split(epsilon, [self.m1.latent_dim, self.m2.latent_dim], axis=-1)
        z1 = objectives.reparameterise(q_z1, epsilon1)
        log_q_z1 = q_z1.log_prob(z1)[:, tf.newaxis]
        x, z1, y = x[:, tf.newaxis], z1[:, tf.newaxis], tf.range(self.num_classes)
        q_z2 = self.m2.encode(tf.gather(z1, self.active, axis=-1), y)
        z2 = objectives.reparameterise(q_z2, epsilon2[:, tf.newaxis])
        log_p = self.joint_log_prob(x, y, z1, z2)
        return objectives.log_importance_weight(log_p, log_q_z1 + q_z2.log_prob(z2))

    def sample(self, count, seed):
        """Draw (x, y, z1, z2) from the generative process; `seed` is two integers."""
        seeds = [noise.fold(seed, i) for i in range(5)]
        y = self.prior_y.sample(count, seed=seeds[0])
        z2 = self.prior_z2.sample(count, seed=seeds[1])
        active = self.m2.decode(y, z2).sample(seed=seeds[2])
        rest = noise.normal([count, len(self.inactive)], seeds[3])
        z1 = self._all_dimensions(active, rest)
        return self.decode(z1).sample(seed=seeds[4]), y, z1, z2

    def generate(self, y, z2):
        """Pixels for a class and a style: E[x|z1] at z1 = E[z1|y,z2], [..., D]."""
        active = self.m2.generate(y, z2)
        # Inactive dimensions at their prior's mean; the batch may be of unknown size.
        rest = tf.zeros(tf.concat([tf.shape(active)[:-1], [len(self.inactive)]], axis=0))
        return self.m1.generate(self._all_dimensions(active, rest))

    def generate_from(self, y, epsilon):
        """Pixels for a class with drawn latents: E[x|z1] at z1 ~ p(z1|y,z2), z2 ~ p(z2), [..., D].

        Args:
          y: as in `M2.encode`.
          epsilon: [..., noise_dim], standard normal, of z2 and then of z1.
        """
        z2, active, rest = tf.split(
            epsilon, [self.m2.latent_dim, len(self.active), len(self.inactive)], axis=-1
        )
        active = objectives.reparameterise(self.m2.decode(y, z2), active)
        return self.m1.generate(self._all_dimensions(active, rest))

    def _all_dimensions(self, active, inactive):
        """Put the two groups of z1's dimensions back in M1's order."""
        order = np.argsort(self.active + self.inactive)
        return tf.gather(tf.concat([active, inactive], axis=-1), order, axis=-1)

    def latents(self, x):
        """E[z1|x], [..., M1's latent_dim]."""
        return self.m1.latents(x)

    def styles(self, x, y):
        """E[z2|x,y], [..., z2's dim]."""
        return self.m2.encode(self.m2.expected(self.features(x)), y).distribution.loc

    def call(self, x):
        return self.m2(self.features(x))

    def get_config(self):
        return {
            **super().get_config(),
            "m1": self.m1.get_config(),
            "m2": self.m2.get_config(),
            "active": self.active,
        }

    @classmethod
    def from_config(cls, config):
        m1, m2 = M1.from_config(config["m1"]), LatentM2.from_config(config["m2"])
        return cls(**{**config, "m1": m1, "m2": m2})


def _with_inputs(transform, part):
    """Apply `transform` to the x of a batch's part: x alone, or (x, y)."""
    return (transform(part[0]), part[1]) if isinstance(part, tuple) else transform(part)
