"""The cases to time, with their weights, data and noise, in NumPy for every library to read.

The objectives, from the same starting weights and on the same data in every implementation:

  M1  mean[-log p(x|z) + KL(q(z|x) || N(0, I))]
  M2  (N_l/N) mean_l L(x, y) + (N_u/N) mean_u U(x) + 0.1 mean_l[-log q(y|x)] + |w|^2 / (2 N)

In shapes: D the size of x, H of a hidden layer, Z of z, K the number of classes.
"""

import dataclasses
from itertools import pairwise

import numpy as np

NUM_LABELLED = 100  # N_l
NUM_UNLABELLED = 49_900  # N_u
NUM_EXAMPLES = NUM_LABELLED + NUM_UNLABELLED  # N
CLASSIFICATION_WEIGHT = 0.1
LEARNING_RATE = 3e-4
MIN_SCALE = 1e-3  # sigma = MIN_SCALE + softplus(raw_scale)


@dataclasses.dataclass(frozen=True)
class Case:
    """One training step to time.

    Args:
      name: key in `CASES`.
      model: "m1" or "m2".
      input_dim: D.
      hidden_units: sizes of the hidden layers; the decoder has them in reverse.
      latent_dim: Z.
      likelihood: "bernoulli", or "gaussian" for M2 on draws z1 ~ N(loc, scale^2) of an M1.
      labelled, unlabelled: rows of either minibatch; M1 has the unlabelled one only.
      num_classes: K.
    """

    name: str
    model: str
    input_dim: int
    hidden_units: tuple[int, ...]
    latent_dim: int
    likelihood: str
    labelled: int
    unlabelled: int
    num_classes: int = 10

    @property
    def parts(self):
        """Name -> rows of the minibatches that the model has."""
        labelled = {"labelled": self.labelled} if self.model == "m2" else {}
        return {**labelled, "unlabelled": self.unlabelled}


CASES = {
    case.name: case
    for case in (
        Case("m2_100_1000", "m2", 784, (500,), 50, "bernoulli", 100, 1000),
        Case("m2_100_100", "m2", 784, (500,), 50, "bernoulli", 100, 100),
        Case("m2_20_100", "m2", 784, (500,), 50, "bernoulli", 20, 100),
        Case("m1_250", "m1", 784, (600, 600), 50, "bernoulli", 0, 250),
        Case("m2_on_z1", "m2", 50, (500,), 50, "gaussian", 100, 100),
    )
}


def tiny(case):
    """The same case in a size that any machine steps through in no time."""
    return dataclasses.replace(
        case,
        input_dim=12,
        hidden_units=(8,) * len(case.hidden_units),
        latent_dim=3,
        labelled=min(case.labelled, 4),
        unlabelled=6,
    )


def chosen(make_tiny):
    """The cases; of those that are alike when tiny, one."""
    if not make_tiny:
        return CASES
    alike = {dataclasses.replace(tiny(case), name=""): name for name, case in CASES.items()}
    return {name: CASES[name] for name in alike.values()}


def networks(case):
    """[(body, head, sizes)]: what each network's parts are called, and its sizes from in to out."""
    inputs, hidden, latent = case.input_dim, case.hidden_units, case.latent_dim
    outputs = 2 * inputs if case.likelihood == "gaussian" else inputs  # [loc | raw_scale] or logits
    parts = [
        ("encoder", "posterior", (inputs, *hidden, 2 * latent)),
        ("decoder", "output", (latent, *hidden[::-1], outputs)),
    ]
    if case.model == "m2":
        parts.append(("classifier", "label", (inputs, *hidden, case.num_classes)))
    return parts


def weights(case, seed):
    """Name -> float32 array: LeCun-normal kernels [inputs, outputs] and small biases [outputs].

    Names: "encoder/0/kernel", "encoder/0/bias", ..., "posterior/kernel", "posterior/bias", and so
    on with decoder and output, classifier and label. M2's encoder and decoder see y through
    "encoder/y_kernel" and "decoder/y_kernel", [K, H].
    """
    rng = np.random.default_rng(seed)

    def kernel(fan_in, units):
        return (rng.standard_normal((fan_in, units)) / np.sqrt(fan_in)).astype(np.float32)

    arrays = {}
    for body, head, sizes in networks(case):
        names = [f"{body}/{i}" for i in range(len(sizes) - 2)] + [head]
        for name, (fan_in, units) in zip(names, pairwise(sizes), strict=True):
            arrays[f"{name}/kernel"] = kernel(fan_in, units)
            # Not zero, so that comparing losses would find a bias in the wrong place.
            arrays[f"{name}/bias"] = (0.1 * rng.standard_normal(units)).astype(np.float32)
        if case.model == "m2" and body != "classifier":
            arrays[f"{body}/y_kernel"] = kernel(case.num_classes, sizes[1])
    return arrays


def joined_layers(arrays, body, head):
    """[(kernel, bias)] of a network from `weights`, the first over the concatenation [x, y]."""
    depth = sum(name.startswith(f"{body}/") and name.endswith("/bias") for name in arrays)
    names = [f"{body}/{i}" for i in range(depth)] + [head]
    layers = [(arrays[f"{name}/kernel"], arrays[f"{name}/bias"]) for name in names]
    if f"{body}/y_kernel" in arrays:
        kernel, bias = layers[0]
        layers[0] = np.concatenate([kernel, arrays[f"{body}/y_kernel"]]), bias
    return layers


def data(case, seed):
    """The minibatches, float32; M1 has x_unlabelled alone.

    Returns:
      x_labelled [labelled, D], y_labelled [labelled, K] one-hot, x_unlabelled [unlabelled, D].
      Under a Bernoulli likelihood x is an intensity in [0, 1], binarised afresh in every step.
      Under a Gaussian one it is the loc of q(z1|x), and x_labelled_scale and x_unlabelled_scale
      are its scale: every step draws z1 = loc + scale * epsilon.
    """
    rng = np.random.default_rng(seed)
    arrays = {}
    for part, rows in case.parts.items():
        shape = (rows, case.input_dim)
        if case.likelihood == "gaussian":
            arrays[f"x_{part}"] = rng.standard_normal(shape)
            arrays[f"x_{part}_scale"] = rng.uniform(0.2, 0.4, shape)
        else:
            arrays[f"x_{part}"] = rng.beta(0.2, 0.8, shape)  # as in images, mostly near 0 or 1
    if "labelled" in case.parts:
        classes = rng.integers(case.num_classes, size=case.labelled)
        arrays["y_labelled"] = np.eye(case.num_classes)[classes]
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def fixed_noise(case, seed):
    """One draw of all of a step's noise, on `data(case, seed)`, to compare losses on.

    Returns:
      x_labelled, x_unlabelled: [rows, D], binarised (Bernoulli) or drawn as z1 (Gaussian).
      epsilon_labelled, epsilon_unlabelled: [rows, Z], z = mu + sigma * epsilon for every class.
    """
    rng = np.random.default_rng([seed, 1])
    observed = data(case, seed)
    arrays = {}
    for part, rows in case.parts.items():
        x = observed[f"x_{part}"]
        if case.likelihood == "gaussian":
            draw = x + observed[f"x_{part}_scale"] * rng.standard_normal(x.shape)
        else:
            draw = rng.uniform(size=x.shape) < x
        arrays[f"x_{part}"] = draw
        arrays[f"epsilon_{part}"] = rng.standard_normal((rows, case.latent_dim))
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def matmul_shapes(case):
    """[(rows, inputs, outputs, needs_input_gradient)] of exact enumeration with no work repeated.

    A first layer on x runs once per example and passes no gradient on to x. The classifier runs
    once per example, the rest once per pair of an example and a class. The label kernels are not
    counted: a one-hot y only picks a row.
    """
    examples = case.labelled + case.unlabelled
    pairs = case.labelled + case.unlabelled * (case.num_classes if case.model == "m2" else 1)
    shapes = []
    for body, _, sizes in networks(case):
        for i, (inputs, outputs) in enumerate(pairwise(sizes)):
            on_x = i == 0 and body != "decoder"
            rows = examples if on_x or body == "classifier" else pairs
            shapes.append((rows, inputs, outputs, not on_x))
    return shapes


def useful_flops(case):
    """Floating-point operations of a step's products: 2 m n k forward, again for each gradient."""
    return sum(
        2 * rows * inputs * outputs * (3 if needs_input_gradient else 2)
        for rows, inputs, outputs, needs_input_gradient in matmul_shapes(case)
    )
