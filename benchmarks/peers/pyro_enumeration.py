"""Pyro: a model and a guide, with the missing labels enumerated in parallel by TraceEnum_ELBO.

Pyro draws one z per class and example, and TraceEnum_ELBO samples the KL: the same expectations as
the other implementations', not the same estimators.
"""

from unittest import mock

import pyro
import pyro.distributions as dist
import torch
from pyro import poutine
from pyro.infer import TraceEnum_ELBO, TraceMeanField_ELBO
from torch import nn
from torch.nn import functional

from benchmarks.peers.torch_networks import (
    gaussian,
    make_adam,
    network,
    observe,
    tensors,
    weight_prior,
)
from benchmarks.speed import cases


def make(case, weights, data):
    """The implementation, without Pyro's checks of arguments, which cost time."""
    pyro.enable_validation(False)
    pyro.clear_param_store()  # else pyro.module would bring an earlier model's weights back
    pyro.set_rng_seed(0)
    return {"m1": PyroM1, "m2": PyroM2}[case.model](case, weights, data)


def given_epsilon(epsilon):
    """Within this context every class uses epsilon [rows, Z] as its standard normal draw."""
    return mock.patch.object(
        torch.distributions.normal, "_standard_normal", lambda shape, **_: epsilon.expand(shape)
    )


def joined(x, y):
    """[x, y] along the last axis; leading axes broadcast, as an enumerated y is [K, 1, K]."""
    leading = torch.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    return torch.cat([x.expand(*leading, -1), y.expand(*leading, -1)], dim=-1)


class PyroModel(nn.Module):
    """What M1 and M2 share."""

    def __init__(self, case, weights, data):
        super().__init__()
        self.case = case
        self.data = tensors(data)
        self.encoder = network(weights, "encoder", "posterior")
        self.decoder = network(weights, "decoder", "output")

    def sample_prior(self, rows):
        """z ~ N(0, I), [rows, Z]."""
        loc = torch.zeros(rows, self.case.latent_dim)
        return pyro.sample("z", dist.Normal(loc, torch.ones_like(loc)).to_event(1))

    def sample_posterior(self, encoded):
        """z ~ q(z|...), from the output of the encoder."""
        return pyro.sample("z", dist.Normal(*gaussian(encoded)).to_event(1))

    def observe_x(self, decoded, x):
        """x ~ p(x|...), observed."""
        if self.case.likelihood == "bernoulli":
            likelihood = dist.Bernoulli(logits=decoded)
        else:
            likelihood = dist.Normal(*gaussian(decoded))
        pyro.sample("x", likelihood.to_event(1), obs=x)

    def negative_elbo(self, estimator, scale, *args):
        """scale * (the negative bound, summed over the rows)."""
        model, guide = poutine.scale(self.model, scale), poutine.scale(self.guide, scale)
        return estimator.differentiable_loss(model, guide, *args)

    def step(self):
        self.optimiser.zero_grad()
        self.objective().backward()
        self.optimiser.step()


class PyroM1(PyroModel):
    """p(z) p(x|z) and q(z|x), with the analytic KL."""

    def __init__(self, case, weights, data):
        super().__init__(case, weights, data)
        self.estimator = TraceMeanField_ELBO()
        self.optimiser = make_adam(case, self)

    def model(self, x):
        pyro.module("decoder", self.decoder)
        with pyro.plate("data", len(x)):
            self.observe_x(self.decoder(self.sample_prior(len(x))), x)

    def guide(self, x):
        pyro.module("encoder", self.encoder)
        with pyro.plate("data", len(x)):
            self.sample_posterior(self.encoder(x))

    def objective(self):
        return self.bound(observe(self.data, "unlabelled"))

    def bound(self, x):
        return self.negative_elbo(self.estimator, 1 / len(x), x)

    def loss(self, noise):
        noise = tensors(noise)
        with given_epsilon(noise["epsilon_unlabelled"]):
            return {"loss": self.bound(noise["x_unlabelled"]).item()}


class PyroM2(PyroModel):
    """p(y) p(z) p(x|y,z) and q(y|x) q(z|x,y), with y enumerated unless it is given."""

    def __init__(self, case, weights, data):
        super().__init__(case, weights, data)
        self.classifier = network(weights, "classifier", "label")
        # Given labels leave nothing to enumerate, of which Pyro would warn.
        self.estimator = TraceEnum_ELBO(max_plate_nesting=1, strict_enumeration_warning=False)
        self.optimiser = make_adam(case, self)

    def model(self, x, y=None):
        pyro.module("decoder", self.decoder)
        with pyro.plate("data", len(x)):
            prior = dist.OneHotCategorical(logits=torch.zeros(len(x), self.case.num_classes))
            y = pyro.sample("y", prior, obs=y)
            z = self.sample_prior(len(x))
            self.observe_x(self.decoder(joined(z, y)), x)

    def guide(self, x, y=None):
        pyro.module("encoder", self.encoder)
        pyro.module("classifier", self.classifier)
        with pyro.plate("data", len(x)):
            if y is None:
                q_y = dist.OneHotCategorical(logits=self.classifier(x))
                y = pyro.sample("y", q_y, infer={"enumerate": "parallel"})
            self.sample_posterior(self.encoder(joined(x, y)))

    def objective(self):
        x = observe(self.data, "labelled")
        return (
            self.labelled_part(x)
            + self.unlabelled_part(observe(self.data, "unlabelled"))
            + self.classification_part(x)
        )

    def labelled_part(self, x):
        """(N_l / N) mean L(x, y)."""
        scale = cases.NUM_LABELLED / cases.NUM_EXAMPLES / len(x)
        return self.negative_elbo(self.estimator, scale, x, self.data["y_labelled"])

    def unlabelled_part(self, x):
        """(N_u / N) mean U(x)."""
        scale = cases.NUM_UNLABELLED / cases.NUM_EXAMPLES / len(x)
        return self.negative_elbo(self.estimator, scale, x)

    def classification_part(self, x):
        """0.1 mean[-log q(y|x)]; the bound of labelled data does not contain q(y|x)."""
        logits = self.classifier(x)
        return cases.CLASSIFICATION_WEIGHT * functional.cross_entropy(
            logits, self.data["y_labelled"]
        )

    def loss(self, noise):
        noise = tensors(noise)
        with given_epsilon(noise["epsilon_labelled"]):
            labelled = self.labelled_part(noise["x_labelled"])
        with given_epsilon(noise["epsilon_unlabelled"]):
            unlabelled = self.unlabelled_part(noise["x_unlabelled"])
        classification = self.classification_part(noise["x_labelled"])
        total = labelled + unlabelled + classification + weight_prior(self)
        return {"loss_sampled_kl": total.item()}
