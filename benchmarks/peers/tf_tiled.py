"""TensorFlow by hand, in a tf.function: x repeated for every class and joined with one-hot y."""

import math

import keras
import tensorflow as tf

from benchmarks.speed import cases


def make(case, weights, data):
    """The implementation."""
    return TFTiled(case, weights, data)


class Network:
    """Linear layers with softplus between them; the first is over [x, y] if the network sees y."""

    def __init__(self, weights, body, head):
        self.layers = [
            (tf.Variable(kernel), tf.Variable(bias))
            for kernel, bias in cases.joined_layers(weights, body, head)
        ]

    @property
    def variables(self):
        return [variable for layer in self.layers for variable in layer]

    def __call__(self, features):
        *hidden, (head_kernel, head_bias) = self.layers
        for kernel, bias in hidden:
            features = tf.nn.softplus(tf.matmul(features, kernel) + bias)
        return tf.matmul(features, head_kernel) + head_bias


def gaussian(parameters):
    """[loc | raw_scale], [..., 2 n] -> loc, scale, each [..., n]."""
    loc, raw_scale = tf.split(parameters, 2, axis=-1)
    return loc, cases.MIN_SCALE + tf.nn.softplus(raw_scale)


def joined(x, y):
    """[x, y] along the last axis, or x alone."""
    return x if y is None else tf.concat([x, y], axis=-1)


def kl(loc, scale, epsilon=None):
    """KL[N(loc, scale^2) || N(0, I)], [rows]; given epsilon, log q(z) - log p(z) at its z."""
    if epsilon is None:
        squares = tf.square(loc) + tf.square(scale) - 1.0
    else:
        squares = tf.square(loc + scale * epsilon) - tf.square(epsilon)
    return 0.5 * tf.reduce_sum(squares - 2.0 * tf.math.log(scale), axis=-1)


class TFTiled:
    """`loss` at the present weights on given noise, and `step`."""

    def __init__(self, case, weights, data):
        tf.random.set_seed(0)
        self.case = case
        self.data = {name: tf.constant(array) for name, array in data.items()}
        self.networks = {
            body: Network(weights, body, head) for body, head, _ in cases.networks(case)
        }
        self.variables = [v for network in self.networks.values() for v in network.variables]
        self.optimiser = keras.optimizers.Adam(cases.LEARNING_RATE)
        self.optimiser.build(self.variables)

    def bound(self, x, epsilon, sampled_kl, y=None):
        """-log p(x|y,z) + KL: x [rows, D], epsilon [rows, Z], y [rows, K] -> [rows]."""
        loc, scale = gaussian(self.networks["encoder"](joined(x, y)))
        output = self.networks["decoder"](joined(loc + scale * epsilon, y))
        return self.reconstruction(output, x) + kl(loc, scale, epsilon if sampled_kl else None)

    def reconstruction(self, output, x):
        """-log p(x|...), [rows]."""
        if self.case.likelihood == "bernoulli":
            terms = tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=output)
            return tf.reduce_sum(terms, axis=-1)
        loc, scale = gaussian(output)
        terms = 0.5 * tf.square((x - loc) / scale) + tf.math.log(scale) + 0.5 * math.log(math.tau)
        return tf.reduce_sum(terms, axis=-1)

    def labelled_loss(self, x, y, epsilon, sampled_kl):
        """L(x, y) with a uniform p(y), [rows]."""
        return self.bound(x, epsilon, sampled_kl, y) + math.log(self.case.num_classes)

    def unlabelled_loss(self, x, epsilon, sampled_kl):
        """U(x) = sum_y q(y|x) (L(x, y) + log q(y|x)), [rows]."""
        classes = self.case.num_classes
        every_y = tf.tile(tf.eye(classes), [x.shape[0], 1])
        x_tiled, epsilon_tiled = (tf.repeat(a, classes, axis=0) for a in (x, epsilon))
        per_class = self.labelled_loss(x_tiled, every_y, epsilon_tiled, sampled_kl)
        log_q_y = tf.nn.log_softmax(self.networks["classifier"](x))
        per_class = tf.reshape(per_class, [-1, classes])
        return tf.reduce_sum(tf.exp(log_q_y) * (per_class + log_q_y), axis=-1)

    def objective(self, batch, sampled_kl=False):
        """What a step minimises, []."""
        x, epsilon = batch["x_unlabelled"], batch["epsilon_unlabelled"]
        if self.case.model == "m1":
            return tf.reduce_mean(self.bound(x, epsilon, sampled_kl))
        unlabelled = self.unlabelled_loss(x, epsilon, sampled_kl)
        x, y, epsilon = (batch[f"{name}_labelled"] for name in ("x", "y", "epsilon"))
        labelled = self.labelled_loss(x, y, epsilon, sampled_kl)
        logits = self.networks["classifier"](x)
        classification = tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits)
        weight_prior = tf.add_n([tf.nn.l2_loss(v) for v in self.variables]) / cases.NUM_EXAMPLES
        return (
            cases.NUM_LABELLED / cases.NUM_EXAMPLES * tf.reduce_mean(labelled)
            + cases.NUM_UNLABELLED / cases.NUM_EXAMPLES * tf.reduce_mean(unlabelled)
            + cases.CLASSIFICATION_WEIGHT * tf.reduce_mean(classification)
            + weight_prior
        )

    def draw(self):
        """The data with a step's noise: x binarised or z1 drawn, and one epsilon per example."""
        batch = dict(self.data)
        for part, rows in self.case.parts.items():
            x = self.data[f"x_{part}"]
            if self.case.likelihood == "gaussian":
                scale = self.data[f"x_{part}_scale"]
                batch[f"x_{part}"] = x + scale * tf.random.normal(x.shape)
            else:
                batch[f"x_{part}"] = tf.cast(tf.random.uniform(x.shape) < x, tf.float32)
            batch[f"epsilon_{part}"] = tf.random.normal([rows, self.case.latent_dim])
        return batch

    def loss(self, noise):
        batch = {**self.data, **{name: tf.constant(array) for name, array in noise.items()}}
        return {
            "loss": float(self.objective(batch)),
            "loss_sampled_kl": float(self.objective(batch, sampled_kl=True)),
        }

    @tf.function(jit_compile=False)
    def step(self):
        batch = self.draw()
        with tf.GradientTape() as tape:
            loss = self.objective(batch)
        gradients = tape.gradient(loss, self.variables)
        self.optimiser.apply_gradients(zip(gradients, self.variables, strict=True))
