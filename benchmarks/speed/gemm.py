"""The rate of large matrix products in a library: what a training step can at best reach."""

import time

ROWS, INPUTS, OUTPUTS = 10_000, 500, 784  # M2's output layer for 1000 examples and 10 classes


def torch_products(rows):
    """The forward product and its two gradients, as functions of no argument."""
    import torch

    features, kernel = torch.randn(rows, INPUTS), torch.randn(INPUTS, OUTPUTS)
    gradient = torch.randn(rows, OUTPUTS)
    return {
        "forward": lambda: features @ kernel,
        "kernel_gradient": lambda: features.T @ gradient,
        "input_gradient": lambda: gradient @ kernel.T,
    }


def tf_products(rows):
    """The forward product and its two gradients, as functions of no argument."""
    import tensorflow as tf

    features, kernel = tf.random.normal([rows, INPUTS]), tf.random.normal([INPUTS, OUTPUTS])
    gradient = tf.random.normal([rows, OUTPUTS])
    return {
        "forward": lambda: tf.matmul(features, kernel),
        "kernel_gradient": lambda: tf.matmul(features, gradient, transpose_a=True),
        "input_gradient": lambda: tf.matmul(gradient, kernel, transpose_b=True),
    }


def measure(make_products, repetitions=5, rows=ROWS):
    """Float32 rates in GFLOP/s, from each product's best time.

    Returns:
      gflops: the rate of the three products one after the other.
      gflops_by_product: the rate of each.
    """
    gflop = 2e-9 * rows * INPUTS * OUTPUTS
    best = {name: _best_seconds(p, repetitions) for name, p in make_products(rows).items()}
    return {
        "gflops": len(best) * gflop / sum(best.values()),
        "gflops_by_product": {name: gflop / seconds for name, seconds in best.items()},
    }


def _best_seconds(product, repetitions):
    product()  # the first one pays for memory and threads
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        product()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
