"""PyTorch by hand: x repeated for every class and concatenated with the one-hot y."""

import math

import torch
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


def make(case, weights, data, compile=False, bfloat16=False):
    """The implementation; `compile` puts the loss through torch.compile, `bfloat16` casts."""
    return TorchTiled(case, weights, data, compile, bfloat16)


def joined(x, y):
    """[x, y] along the last axis, or x alone."""
    return x if y is None else torch.cat([x, y], dim=-1)


def kl(loc, scale, epsilon=None):
    """KL[N(loc, scale^2) || N(0, I)], [rows]; given epsilon, log q(z) - log p(z) at its z."""
    if epsilon is None:
        squares = loc.square() + scale.square() - 1.0
    else:
        squares = (loc + scale * epsilon).square() - epsilon.square()
    return 0.5 * (squares - 2.0 * scale.log()).sum(-1)


class M1(nn.Module):
    """-log p(x|z) + KL, and with y the same of p(x|y,z) and q(z|x,y)."""

    def __init__(self, case, weights):
        super().__init__()
        self.case = case
        self.encoder = network(weights, "encoder", "posterior")
        self.decoder = network(weights, "decoder", "output")

    def bound(self, x, epsilon, sampled_kl, y=None):
        """x [rows, D], epsilon [rows, Z], y [rows, K] -> [rows]."""
        loc, scale = gaussian(self.encoder(joined(x, y)))
        output = self.decoder(joined(loc + scale * epsilon, y))
        return self.reconstruction(output, x) + kl(loc, scale, epsilon if sampled_kl else None)

    def reconstruction(self, output, x):
        """-log p(x|...), [rows]."""
        if self.case.likelihood == "bernoulli":
            terms = functional.binary_cross_entropy_with_logits(output, x, reduction="none")
            return terms.sum(-1)
        loc, scale = gaussian(output)
        terms = 0.5 * ((x - loc) / scale).square() + scale.log() + 0.5 * math.log(2 * math.pi)
        return terms.sum(-1)

    def forward(self, batch, sampled_kl=False):
        return self.bound(batch["x_unlabelled"], batch["epsilon_unlabelled"], sampled_kl).mean()


class M2(M1):
    """The objective of M2 without its weight prior, which the optimiser's weight decay is."""

    def __init__(self, case, weights):
        super().__init__(case, weights)
        self.classifier = network(weights, "classifier", "label")

    def labelled_loss(self, x, y, epsilon, sampled_kl):
        """L(x, y) with a uniform p(y), [rows]."""
        return self.bound(x, epsilon, sampled_kl, y) + math.log(self.case.num_classes)

    def unlabelled_loss(self, x, epsilon, sampled_kl):
        """U(x) = sum_y q(y|x) (L(x, y) + log q(y|x)), [rows]."""
        classes = self.case.num_classes
        every_y = torch.eye(classes).repeat(len(x), 1)
        x_tiled = x.repeat_interleave(classes, dim=0)
        epsilon_tiled = epsilon.repeat_interleave(classes, dim=0)
        per_class = self.labelled_loss(x_tiled, every_y, epsilon_tiled, sampled_kl)
        log_q_y = functional.log_softmax(self.classifier(x), dim=-1)
        return (log_q_y.exp() * (per_class.view(-1, classes) + log_q_y)).sum(-1)

    def forward(self, batch, sampled_kl=False):
        x, y = batch["x_labelled"], batch["y_labelled"]
        labelled = self.labelled_loss(x, y, batch["epsilon_labelled"], sampled_kl)
        unlabelled = self.unlabelled_loss(
            batch["x_unlabelled"], batch["epsilon_unlabelled"], sampled_kl
        )
        return (
            cases.NUM_LABELLED / cases.NUM_EXAMPLES * labelled.mean()
            + cases.NUM_UNLABELLED / cases.NUM_EXAMPLES * unlabelled.mean()
            + cases.CLASSIFICATION_WEIGHT * functional.cross_entropy(self.classifier(x), y)
        )


class TorchTiled:
    """`loss` at the present weights on given noise, and `step`."""

    def __init__(self, case, weights, data, compile, bfloat16):
        torch.manual_seed(0)
        self.precision = lambda: torch.autocast("cpu", torch.bfloat16, enabled=bfloat16)
        self.case = case
        self.data = tensors(data)
        self.model = {"m1": M1, "m2": M2}[case.model](case, weights)
        # Sizes never change within a case; a second case would else be compiled for any size.
        self.objective = torch.compile(self.model, dynamic=False) if compile else self.model
        self.optimiser = make_adam(case, self.model)

    def loss(self, noise):
        batch = {**self.data, **tensors(noise)}
        prior = weight_prior(self.model).item() if self.case.model == "m2" else 0.0
        # The first goes through what `step` differentiates, so a compiled loss is compared too.
        with self.precision():
            return {
                "loss": self.objective(batch).item() + prior,
                "loss_sampled_kl": self.model(batch, sampled_kl=True).item() + prior,
            }

    def step(self):
        batch = dict(self.data)
        for part, rows in self.case.parts.items():
            batch[f"x_{part}"] = observe(self.data, part)
            batch[f"epsilon_{part}"] = torch.randn(rows, self.case.latent_dim)
        self.optimiser.zero_grad()
        with self.precision():
            loss = self.objective(batch)
        loss.backward()
        self.optimiser.step()
