"""The networks of a case in PyTorch, and the draws of a step, for the PyTorch and Pyro peers."""

import torch
from torch import nn
from torch.nn import functional

from benchmarks.speed import cases


def network(weights, body, head):
    """Linear layers with softplus between them; the first is over [x, y] if the network sees y."""
    layers = []
    for kernel, bias in cases.joined_layers(weights, body, head):
        linear = nn.Linear(*kernel.shape)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(kernel.T))
            linear.bias.copy_(torch.from_numpy(bias))
        layers += [linear, nn.Softplus()]
    return nn.Sequential(*layers[:-1])


def gaussian(parameters):
    """[loc | raw_scale], [..., 2 n] -> loc, scale, each [..., n]."""
    loc, raw_scale = parameters.chunk(2, dim=-1)
    return loc, cases.MIN_SCALE + functional.softplus(raw_scale)


def tensors(arrays):
    """The same dict with PyTorch tensors in it."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def observe(data, part):
    """x of a part as one step sees it, [rows, D]: binarised, or z1 = loc + scale * epsilon."""
    x = data[f"x_{part}"]
    if f"x_{part}_scale" in data:
        return x + data[f"x_{part}_scale"] * torch.randn_like(x)
    return torch.bernoulli(x)  # quicker than comparing with uniform draws


def weight_prior(module):
    """|w|^2 / (2 N)."""
    return sum(w.square().sum() for w in module.parameters()) / (2 * cases.NUM_EXAMPLES)


def make_adam(case, module):
    """Adam, whose coupled weight decay w / N is the gradient of the weight prior of M2."""
    weight_decay = 1 / cases.NUM_EXAMPLES if case.model == "m2" else 0.0
    return torch.optim.Adam(
        module.parameters(), lr=cases.LEARNING_RATE, weight_decay=weight_decay, fused=True
    )
