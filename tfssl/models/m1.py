"""M1, the latent-feature model: a variational auto-encoder whose latents feed a classifier.

Generative process              Inference model
  z   ~ N(0, I)                   q(z|x) = N(mu(x), diag(sigma(x)^2))
  x|z ~ p(x|z)

Kingma et al. (2014), equations 1, 3 and 5. The classifiers are in `tfssl.classifiers`.
"""

import keras
import tensorflow as tf

from tfssl.models import distributions, noise, objectives
from tfssl.models.base import GenerativeModel, mean
from tfssl.models.likelihoods import make_likelihood
from tfssl.models.networks import MLP, child_seeds


@keras.saving.register_keras_serializable("tfssl")
class M1(GenerativeModel):
    """A variational auto-encoder. `fit` takes batches {"unlabelled": x}; a call gives E[z|x].

    Args:
      input_dim: D, the size of x.
      latent_dim: the size of z.
      hidden_units: sizes of the hidden layers of the encoder; the decoder has them in reverse.
      likelihood: p(x|z), "bernoulli", "binomial", "gaussian", "isotropic" or
        "columns".
      total_count: n of the binomial likelihood.
      seed: seed of the initial weights and of the noise.
      binary_columns: which columns of x hold 0 and 1, for the likelihood "columns".
    """

    loss_names = ("loss", "reconstruction", "kl_z")
    has_classes = False
    latents_name = "E[z|x] of M1"
    density_losses = ("loss", "reconstruction")

    def __init__(
        self,
        input_dim,
        latent_dim=50,
        hidden_units=(600, 600),
        likelihood="bernoulli",
        total_count=None,
        seed=0,
        binary_columns=(),
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.input_dim = input_dim
        self.latent_dim = latent_dim
        self.hidden_units = tuple(hidden_units)
        self.likelihood = likelihood
        self.total_count = total_count
        self.binary_columns = tuple(int(c) for c in binary_columns)
        self.seed = seed
        self.kl_warmup_steps = 0  # how many training steps the KL term's weight takes to reach 1

        seeds = child_seeds(seed, 4)
        first, last = self.hidden_units[0], self.hidden_units[-1]
        dtype = self.dtype_policy
        self.encoder = MLP(input_dim, self.hidden_units, seed=seeds[0], dtype=dtype)
        self.posterior = distributions.DiagonalGaussian(latent_dim, last, seed=seeds[1])
        self.decoder = MLP(latent_dim, self.hidden_units[::-1], seed=seeds[2], dtype=dtype)
        self.output_layer = make_likelihood(
            likelihood, input_dim, first, total_count, seeds[3], self.binary_columns
        )
        self._track_losses()
        self.built = True

    def chance_loss(self, x):
        """Nats per example that a model loses on x [N, D] if it has learned nothing."""
        return self.output_layer.chance_loss(x)

    def encode(self, x):
        """q(z|x): x [..., D] -> a Gaussian over z [..., latent_dim]."""
        return self.posterior.distribution(self.encoder(x))

    def decode(self, z):
        """p(x|z): z [..., latent_dim] -> a distribution over x [..., D]."""
        return self.output_layer.distribution(self.decoder(z))

    def batch_losses(self, batch, seed, training):
        x = self.observe(batch["unlabelled"], noise.fold(seed, 0))
        epsilon = noise.normal([tf.shape(x)[0], self.latent_dim], noise.fold(seed, 1))
        return self.losses(x, epsilon, self.kl_weight() if training else 1.0)

    def kl_weight(self):
        """The KL term's weight at this training step.

        The decoder cannot use z yet when training starts, and the KL term would drive latent
        dimensions to the prior from where they hardly return. A slow start keeps them.
        """
        if self.kl_warmup_steps == 0:
            return 1.0
        step = tf.cast(self.optimizer.iterations, tf.float32)
        return tf.minimum(1.0, step / self.kl_warmup_steps)

    def losses(self, x, epsilon, kl_weight=1.0):
        """The loss terms on given noise; x [batch, D], epsilon [batch, latent_dim]."""
        q_z = self.encode(x)
        log_p_x = self.log_p_x(x, objectives.reparameterise(q_z, epsilon))
        kl_z = objectives.gaussian_kl(q_z)
        return {
            "loss": mean(objectives.vae_loss(log_p_x, kl_z, kl_weight)),
            "reconstruction": mean(-log_p_x),
            "kl_z": mean(kl_z),
        }

    def log_p_x(self, x, z):
        """log p(x|z), [...]: that of `decode(z)` from fewer passes over memory."""
        return self.output_layer.log_prob(self.decoder(z), x)

    def joint_log_prob(self, x, z):
        """log p(x, z) = log p(z) + log p(x|z), [...]."""
        return self.prior_z.log_prob(z) + self.log_p_x(x, z)

    def proposal(self, x):
        """What `log_weights` draws z from, q(z|x): x [batch, D] -> [batch, latent_dim]."""
        return self.encode(x)

    def log_weights(self, x, q_z, epsilon):
        """log p(x, z) - log q(z|x) at one z ~ q(z|x): the mean weight is p(x).

        Args:
          x: [batch, D].
          q_z: `proposal(x)`.
          epsilon: [batch, noise_dim].

        Returns:
          log_weights: [batch].
        """
        z = objectives.reparameterise(q_z, epsilon)
        return objectives.log_importance_weight(self.joint_log_prob(x, z), q_z.log_prob(z))

    def generate(self, z):
        """E[x|z], [..., D]."""
        return self.decode(z).mean()

    def latents(self, x):
        """E[z|x] under q(z|x), [..., latent_dim]: the features for a classifier."""
        return self.encode(x).distribution.loc

    def call(self, x):
        return self.latents(x)

    def get_config(self):
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "latent_dim": self.latent_dim,
            "hidden_units": list(self.hidden_units),
            "likelihood": self.likelihood,
            "total_count": self.total_count,
            "binary_columns": list(self.binary_columns),
            "seed": self.seed,
        }
