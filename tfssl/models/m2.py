"""M2, the generative semi-supervised model: a VAE with the class as a second latent variable.

Generative process              Inference model
  y     ~ Cat(pi)                 q(y|x)   = Cat(pi(x)), the classifier
  z     ~ N(0, I)                 q(z|x,y) = N(mu(x, y), diag(sigma(x, y)^2))
  x|y,z ~ p(x|y,z)

Kingma et al. (2014), equations 2, 4 and 6 to 9. Missing labels are summed out, never sampled.
"""

import math

import keras
import tensorflow as tf
import tensorflow_probability as tfp

from tfssl.models import distributions, noise, objectives
from tfssl.models.base import GenerativeModel, mean
from tfssl.models.checks import check_classes, check_share
from tfssl.models.enumeration import make_enumeration
from tfssl.models.likelihoods import make_likelihood
from tfssl.models.networks import MLP, child_seeds
from tfssl.models.posteriors import make_posterior
from tfssl.models.priors import LEARNED, LearnedPrior

tfd = tfp.distributions

# What a training may be restricted to.
CLASSIFIER = "classifier"


@keras.saving.register_keras_serializable("tfssl")
class M2(GenerativeModel):
    """`fit` takes batches {"labelled": (x, y), "unlabelled": x}; a call gives q(y|x).

    A batch without "unlabelled" trains on labels alone.

    Args:
      input_dim: D, the size of x.
      num_classes: K, at least 2.
      num_labelled: N_l, the size of the labelled training set.
      num_unlabelled: N_u, the size of the unlabelled one.
      latent_dim: the size of z.
      hidden_units: sizes of the hidden layers of each of the three networks.
      likelihood: p(x|y,z), "bernoulli", "binomial", "gaussian", "isotropic" or
        "columns".
      total_count: n of the binomial likelihood.
      posterior_scale: what sigma of q(z|x,y) depends on: "xy" as in the authors' code, or "x" as in
        the paper.
      class_prior: p(y), K probabilities; uniform if not given; "learned" for a `LearnedPrior`.
      classification_weight: alpha / N.
      top_classes: k, short for `enumeration=LikeliestClasses(k)`.
      seed: seed of the initial weights and of the noise.
      enumeration: how the sum over the classes of an unlabelled example is taken, a part from
        `tfssl.models.enumeration`; `AllClasses()` if not given.
      labelled_share: rho of `objectives.generative_loss`, above 0 and up to 1; N_l / N if not
        given. With 1 unlabelled examples are not looked at.
      binary_columns: which columns of x hold 0 and 1, for the likelihood "columns".
    """

    def __init__(
        self,
        input_dim,
        num_classes,
        num_labelled,
        num_unlabelled,
        latent_dim=50,
        hidden_units=(500,),
        likelihood="bernoulli",
        total_count=None,
        posterior_scale="xy",
        class_prior=None,
        classification_weight=0.1,
        top_classes=None,
        seed=0,
        enumeration=None,
        labelled_share=None,
        binary_columns=(),
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_classes(num_classes, class_prior)
        check_share(labelled_share)
        self.input_dim = input_dim
        self.num_classes = num_classes
        self.num_labelled = num_labelled
        self.num_unlabelled = num_unlabelled
        self.latent_dim = latent_dim
        self.hidden_units = hidden = tuple(hidden_units)
        self.likelihood = likelihood
        self.total_count = total_count
        self.binary_columns = tuple(int(c) for c in binary_columns)
        self.posterior_scale = posterior_scale
        named = class_prior is None or isinstance(class_prior, str)
        self.class_prior = class_prior if named else [float(p) for p in class_prior]
        self.classification_weight = classification_weight
        self.enumeration = make_enumeration(enumeration, top_classes, num_classes)
        self.labelled_share = labelled_share
        self.seed = seed

        # A stream of its own, or an M1 of the same seed would start with the same layers.
        seeds = child_seeds(noise.stream(seed, "m2"), 8)
        last, dtype = hidden[-1], self.dtype_policy
        self.classifier = MLP(input_dim, hidden, seed=seeds[0], dtype=dtype)
        self.label_layer = distributions.Categorical(num_classes, last, seed=seeds[1])
        self.encoder = MLP(input_dim, hidden, num_classes, seed=seeds[2], dtype=dtype)
        self.posterior = make_posterior(
            posterior_scale, latent_dim, input_dim, hidden, seeds[3:5], dtype
        )
        self.decoder = MLP(latent_dim, hidden[::-1], num_classes, seed=seeds[5], dtype=dtype)
        self.output_layer = make_likelihood(
            likelihood, input_dim, hidden[0], total_count, seeds[6], self.binary_columns
        )
        self.learned_prior = LearnedPrior(num_classes) if self.class_prior == LEARNED else None
        self._track_losses()
        self.built = True

    @property
    def prior_y(self):
        """p(y) over one-hot y."""
        if self.learned_prior is not None:
            probabilities = self.learned_prior.probabilities
        else:
            probabilities = self.class_prior or [1.0 / self.num_classes] * self.num_classes
        return tfd.OneHotCategorical(probs=probabilities, dtype=tf.float32)

    def classify(self, x):
        """q(y|x): x [..., D] -> a distribution over one-hot y [..., K]."""
        return self.label_layer.distribution(self.classifier(x))

    def encode(self, x, y):
        """q(z|x,y): x [..., D] and y broadcast -> a Gaussian over z.

        y is one-hot, [..., K] of a floating type, or class indices, [...] of an integer type.
        """
        return self.posterior.given(self.encoder(x, y), x)

    def decode(self, y, z):
        """p(x|y,z): y as in `encode`, z [..., latent_dim] broadcast -> a distribution over x."""
        return self.output_layer.distribution(self.decoder(z, y))

    def loss_terms(self, x, y, epsilon):
        """L(x, y) and its parts, each [...].

        Args:
          x: [..., D].
          y: as in `encode`.
          epsilon: [..., latent_dim]; all three broadcast.

        Returns:
          loss: L(x, y).
          log_p_x: log p(x|y,z).
          kl_z: KL[q(z|x,y) || p(z)].
        """
        q_z = self.encode(x, y)
        log_p_x = self.log_p_x(x, y, objectives.reparameterise(q_z, epsilon))
        kl_z = objectives.gaussian_kl(q_z)
        return objectives.labelled_loss(log_p_x, self.log_prior_y(y), kl_z), log_p_x, kl_z

    loss_names = (
        "loss",
        "labelled_loss",
        "unlabelled_loss",
        "classification_loss",
        "label_entropy",
        "reconstruction",
        "kl_z",
        "weight_prior",
        "error",
    )
    latents_name = "E[z|x] of M2: styles"
    density_losses = ("loss", "labelled_loss", "unlabelled_loss", "reconstruction")

    def batch_losses(self, batch, seed, training):
        x, y = batch["labelled"]
        labelled = self.draw(x, noise.fold(seed, 0))
        # Evaluation classifies what a user will classify: x itself, not one noisy draw of it.
        classified = labelled[0] if training else self.expected(x)
        unlabelled = batch.get("unlabelled")
        if unlabelled is not None:
            unlabelled = self.draw(unlabelled, noise.fold(seed, 1))
        return self.losses(labelled, y, classified, unlabelled, training)

    def draw(self, x, seed):
        """One step's noise: x as the step sees it, [batch, D], and epsilon, [batch, latent_dim]."""
        epsilon = noise.normal([tf.shape(x)[0], self.latent_dim], noise.fold(seed, 1))
        return self.observe(x, noise.fold(seed, 0)), epsilon

    def losses(self, labelled, y, classified, unlabelled=None, training=False):
        """The loss terms of eq. 9 on given noise, each a scalar mean in nats.

        Args:
          labelled: (x, epsilon) of the labelled examples, [batch, D] and [batch, latent_dim].
          y: their labels, [batch, K] one-hot.
          classified: what q(y|x) sees of them, [batch, D].
          unlabelled: (x, epsilon) of the unlabelled examples, or None to do without.
          training: whether `enumeration` may take a short cut.
        """
        y = tf.cast(y, tf.float32)
        if self._only == CLASSIFIER:
            return self.classifier_losses(classified, y)
        losses = self.labelled_losses(labelled, y, classified)
        generative_loss = losses["labelled_loss"]
        if unlabelled is not None and self.share < 1.0:
            losses |= self.unlabelled_losses(unlabelled, training)
            generative_loss = objectives.generative_loss(
                losses["labelled_loss"], losses["unlabelled_loss"], self.share
            )
        losses["weight_prior"] = self.weight_prior_loss()
        losses["loss"] = objectives.loss(
            generative_loss,
            losses["classification_loss"],
            self.classification_weight,
            losses["weight_prior"],
        )
        return losses

    @property
    def share(self):
        """rho, the weight of L beside that of U."""
        if self.labelled_share is None:
            return objectives.labelled_share(self.num_labelled, self.num_unlabelled)
        return self.labelled_share

    def labelled_losses(self, drawn, y, classified):
        """What labelled examples add: L(x, y) and its parts, and -log q(y|x)."""
        x, epsilon = drawn
        labelled_loss, log_p_x, kl_z = self.loss_terms(x, y, epsilon)
        return {
            "labelled_loss": mean(labelled_loss),
            "reconstruction": mean(-log_p_x),
            "kl_z": mean(kl_z),
            **self.classification_losses(classified, y),
        }

    def classification_losses(self, x, y):
        """-log q(y|x), and how often its likeliest class is wrong."""
        logits = self.label_logits(x)
        return {
            "classification_loss": mean(objectives.classification_loss(logits, y)),
            "error": mean(tf.cast(tf.argmax(logits, -1) != tf.argmax(y, -1), tf.float32)),
        }

    def classifier_losses(self, x, y):
        """What q(y|x) learns from labels if it learns alone: -log q(y|x), and its weights' prior.

        A decoder that has seen a few labelled rows and nothing else finds most others impossible.
        """
        losses = {**self.classification_losses(x, y), "weight_prior": self.weight_prior_loss()}
        losses["loss"] = losses["classification_loss"] + losses["weight_prior"]
        return losses

    def weight_prior_loss(self):
        """-log p(w) / N of the weights that are trained."""
        return objectives.weight_prior_loss(self.trained, self.num_labelled + self.num_unlabelled)

    @property
    def trained(self):
        if self._only == CLASSIFIER:
            parts = (self.classifier, self.label_layer)
            return [variable for part in parts for variable in part.trainable_variables]
        return super().trained

    def unlabelled_losses(self, drawn, training):
        """What unlabelled examples add: U(x), and H(q(y|x)) to look at."""
        x, epsilon = drawn
        enumeration = self.enumeration if training else self.enumeration.full
        logits = self.label_logits(x)
        losses = {
            "unlabelled_loss": mean(enumeration.unlabelled_loss(self, x, epsilon, logits)),
            "label_entropy": mean(objectives.label_entropy(logits)),
        }
        if self.learned_prior is not None and training:
            losses["class_shares"] = tf.reduce_mean(tf.nn.softmax(logits), axis=0)  # [K]
        return losses

    def after_step(self, losses):
        if self.learned_prior is not None and "class_shares" in losses:
            self.learned_prior.follow(losses["class_shares"])

    def label_logits(self, x):
        """Unnormalised log q(y|x): x [..., D] -> [..., K]."""
        return self.label_layer(self.classifier(x))

    def log_prior_y(self, y):
        """log p(y), [...]; y as in `encode`."""
        if tf.as_dtype(y.dtype).is_integer:
            return tf.gather(self.prior_y.logits_parameter(), y)
        return self.prior_y.log_prob(y)

    def expected(self, x):
        """x as prediction sees it: an intensity is used as it is."""
        return x

    def log_p_x(self, x, y, z):
        """log p(x|y,z), [...]: that of `decode(y, z)` from fewer passes over memory."""
        return self.output_layer.log_prob(self.decoder(z, y), x)

    def joint_log_prob(self, x, y, z):
        """log p(x, y, z) = log p(y) + log p(z) + log p(x|y,z), [...]; y as in `encode`."""
        return self.log_prior_y(y) + self.prior_z.log_prob(z) + self.log_p_x(x, y, z)

    def chance_loss(self, x):
        """Nats per example that a model loses on x [N, D] and y if it has learned nothing."""
        return self.output_layer.chance_loss(x) + math.log(self.num_classes)

    def proposal(self, x):
        """What `log_weights` draws z from, q(z|x,y) of every class: [batch, K, latent_dim]."""
        return self.encode(x[:, tf.newaxis], tf.range(self.num_classes))

    def log_weights(self, x, q_z, epsilon):
        """log p(x, y, z) - log q(z|x,y) at one z ~ q(z|x,y): the mean weight is p(x, y).

        Args:
          x: [batch, D].
          q_z: `proposal(x)`.
          epsilon: [batch, noise_dim], shared by the classes.

        Returns:
          log_weights: [batch, K], for every y.
        """
        x, y = x[:, tf.newaxis], tf.range(self.num_classes)
        z = objectives.reparameterise(q_z, epsilon[:, tf.newaxis])
        return objectives.log_importance_weight(self.joint_log_prob(x, y, z), q_z.log_prob(z))

    def generate(self, y, z):
        """E[x|y,z], [..., D]."""
        return self.decode(y, z).mean()

    def latents(self, x):
        """E[z|x] = sum_y q(y|x) mu(x, y), [batch, latent_dim]."""
        x = self.expected(x)
        loc = self.encode(x[:, tf.newaxis], tf.eye(self.num_classes)).distribution.loc
        return tf.einsum("bk,bkz->bz", tf.nn.softmax(self.label_logits(x)), loc)

    def class_features(self, x):
        """x itself: z says what is left of x beside its class."""
        return x

    def styles(self, x, y):
        """E[z|x,y], [..., latent_dim]."""
        return self.encode(self.expected(x), y).distribution.loc

    def call(self, x):
        return tf.nn.softmax(self.label_logits(self.expected(x)))

    def get_config(self):
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "num_classes": self.num_classes,
            "num_labelled": self.num_labelled,
            "num_unlabelled": self.num_unlabelled,
            "latent_dim": self.latent_dim,
            "hidden_units": list(self.hidden_units),
            "likelihood": self.likelihood,
            "total_count": self.total_count,
            "binary_columns": list(self.binary_columns),
            "posterior_scale": self.posterior_scale,
            "class_prior": self.class_prior,
            "classification_weight": self.classification_weight,
            "seed": self.seed,
            "enumeration": keras.saving.serialize_keras_object(self.enumeration),
            "labelled_share": self.labelled_share,
        }
