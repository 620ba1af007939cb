"""The matrix products of a step and nothing else: what the rest of a step comes on top of.

Between the limit, the rate of the largest products, and our step: the products of a small step are
small themselves, and run at a lower rate.
"""

import tensorflow as tf

from benchmarks.speed import cases


def make(case, weights, data):
    """The implementation; of the case only the shapes matter."""
    return Products(case)


class Products:
    """`step` computes every product that `cases.useful_flops` counts."""

    def __init__(self, case):
        layers = [
            (tf.random.normal([rows, inputs]), tf.random.normal([inputs, outputs]), on_inputs)
            for rows, inputs, outputs, on_inputs in cases.matmul_shapes(case)
        ]
        gradients = [tf.random.normal([len(x), kernel.shape[1]]) for x, kernel, _ in layers]

        @tf.function(autograph=False)
        def products():
            # One element of each is enough to have it computed.
            wanted = []
            for (x, kernel, on_inputs), gradient in zip(layers, gradients, strict=True):
                wanted += [tf.matmul(x, kernel), tf.matmul(x, gradient, transpose_a=True)]
                wanted += [tf.matmul(gradient, kernel, transpose_b=True)] if on_inputs else []
            return tf.add_n([product[0, 0] for product in wanted])

        self.step = lambda: products().numpy()

    def loss(self, noise):
        """It has none to compare."""
        return {}
