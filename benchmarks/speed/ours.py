"""tfssl's own training step, as `fit` runs it."""

import tensorflow as tf

from benchmarks.speed import cases
from tfssl.models import M1, M2, LatentM2, objectives
from tfssl.models.optimizers import FusedAdam


def make(case, weights, data, top_classes=None, precision="float32"):
    """The implementation; `top_classes` truncates the enumeration, `precision` is the networks'."""
    return {"m1": OursM1, "m2": OursM2}[case.model](case, weights, data, top_classes, precision)


class Ours:
    """What M1 and M2 share: `step` is `train_step` in a graph."""

    def __init__(self, model, case, weights, batch):
        self.model, self.case = model, case
        set_weights(model, weights)
        model.compile(optimizer=FusedAdam(cases.LEARNING_RATE), jit_compile=False)
        model.optimizer.build(model.trainable_variables)
        train_step = tf.function(model.train_step)
        self.step = lambda: train_step(batch)["loss"].numpy()


class OursM1(Ours):
    def __init__(self, case, weights, data, _, precision):
        sizes = (case.input_dim, case.latent_dim, case.hidden_units)
        model = M1(*sizes, case.likelihood, dtype=precision)
        super().__init__(model, case, weights, {"unlabelled": tf.constant(data["x_unlabelled"])})

    def loss(self, noise):
        x, epsilon = noise["x_unlabelled"], noise["epsilon_unlabelled"]
        return {"loss": float(self.model.losses(tf.constant(x), tf.constant(epsilon))["loss"])}


class OursM2(Ours):
    def __init__(self, case, weights, data, top_classes, precision):
        model = (LatentM2 if case.likelihood == "gaussian" else M2)(
            case.input_dim,
            case.num_classes,
            cases.NUM_LABELLED,
            cases.NUM_UNLABELLED,
            case.latent_dim,
            case.hidden_units,
            case.likelihood,
            top_classes=top_classes,
            dtype=precision,
        )
        self.y = tf.constant(data["y_labelled"])
        batch = {
            "labelled": (_input(data, "x_labelled"), self.y),
            "unlabelled": _input(data, "x_unlabelled"),
        }
        super().__init__(model, case, weights, batch)

    def loss(self, noise):
        noise = {name: tf.constant(array) for name, array in noise.items()}
        labelled, unlabelled = (
            (noise[f"x_{part}"], noise[f"epsilon_{part}"]) for part in ("labelled", "unlabelled")
        )
        loss = self.model.losses(labelled, self.y, labelled[0], unlabelled)["loss"]
        share = cases.NUM_LABELLED / cases.NUM_EXAMPLES
        excess = share * self._kl_excess(labelled, self.y[:, tf.newaxis])
        excess += (1.0 - share) * self._kl_excess(unlabelled, tf.eye(self.case.num_classes))
        return {"loss": float(loss), "loss_sampled_kl": float(loss + excess)}

    def _kl_excess(self, drawn, y):
        """Mean of sum_y q(y) (log q(z|x,y) - log p(z) - KL): how far Pyro's estimator is off."""
        x, epsilon = drawn
        q_z = self.model.encode(x[:, tf.newaxis], y)
        z = objectives.reparameterise(q_z, epsilon[:, tf.newaxis])
        excess = q_z.log_prob(z) - self.model.prior_z.log_prob(z) - objectives.gaussian_kl(q_z)
        q_y = tf.nn.softmax(self.model.label_logits(x)) if excess.shape[1] > 1 else 1.0
        return tf.reduce_mean(tf.reduce_sum(q_y * excess, axis=-1))


def _input(data, name):
    """x, or for the stack the parameters of q(z1|x) side by side."""
    parts = [data[name], data[f"{name}_scale"]] if f"{name}_scale" in data else [data[name]]
    return tf.concat(parts, axis=-1)


def set_weights(model, weights):
    """Put a case's weights, by name, into the model's layers."""
    bodies = {"encoder": model.encoder, "decoder": model.decoder}
    heads = {"posterior": model.posterior, "output": model.output_layer}
    if isinstance(model, M2):
        bodies["classifier"], heads["label"] = model.classifier, model.label_layer
    layers = {name: head.linear for name, head in heads.items()}
    for name, body in bodies.items():
        layers |= {f"{name}/{i}": linear for i, linear in enumerate(body.linears)}
        if body.condition_linear is not None:
            body.condition_linear.kernel.assign(weights[f"{name}/y_kernel"])
    for name, layer in layers.items():
        layer.kernel.assign(weights[f"{name}/kernel"])
        layer.bias.assign(weights[f"{name}/bias"])
