"""The elementwise hot spots of a training step, each one loop over memory.

TensorFlow runs an expression such as softplus(a + b) operation by operation, each a pass over
memory. On a CPU XLA makes one loop of it, at half the time or less; it loses on matrix products and
random numbers, so only these expressions are compiled. Every function here equals its plain
counterpart in value and gradient (tests/models/test_kernels.py).
"""

import functools

import tensorflow as tf

# Below this many elements, starting a compiled loop costs what it saves.
MIN_ELEMENTS = 50_000


def _one_loop(expression):
    """Compile an expression where that pays: on large arrays of known shape, inside a graph.

    A graph for any batch size, as exported models are, keeps plain operations.
    """
    compiled = tf.function(expression, jit_compile=True, autograph=False)

    @functools.wraps(expression)
    def choose(*arrays):
        sizes = [array.shape.num_elements() for array in arrays]
        pays = None not in sizes and max(sizes) >= MIN_ELEMENTS and tf.inside_function()
        return compiled(*arrays) if pays else expression(*arrays)

    return choose


@_one_loop
def _softplus(a, b):
    # max(s, 0) + log(1 + exp(-|s|)) to the bit, without max and unary minus: a converter for
    # devices would merge the first into the product before it, which is then computed twice, and
    # has no 16-bit version of the second.
    total = tf.cast(a, tf.float32) + tf.cast(b, tf.float32)
    twice_positive = total + tf.abs(total)
    value = 0.5 * twice_positive + tf.math.log(1.0 + tf.exp(total - twice_positive))
    return tf.cast(value, a.dtype)


@_one_loop
def _softplus_gradient(upstream, a, b):
    total = tf.cast(a, tf.float32) + tf.cast(b, tf.float32)
    return upstream * tf.cast(tf.sigmoid(total), upstream.dtype)


@tf.custom_gradient
def softplus(a, b):
    """log(1 + exp(a + b)), a and b broadcast; their sum is never stored."""

    def gradient(upstream):
        d_sum = _softplus_gradient(upstream, a, b)
        axes_a, axes_b = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(a), s1=tf.shape(b))
        return (
            tf.reshape(tf.reduce_sum(d_sum, axes_a), tf.shape(a)),
            tf.reshape(tf.reduce_sum(d_sum, axes_b), tf.shape(b)),
        )

    return _softplus(a, b), gradient


@_one_loop
def _bernoulli(products, bias, x):
    """sum_d (x_d l_d - softplus(l_d)) with l = products + b; and its gradient, x - sigmoid(l).

    The first is float32, the gradient of the products' type.
    """
    logits = tf.cast(products, tf.float32) + bias
    decay = tf.exp(-tf.abs(logits))
    on_probability = tf.where(logits > 0.0, 1.0, decay) / (1.0 + decay)
    terms = x * logits - tf.nn.relu(logits) - tf.math.log(1.0 + decay)
    return tf.reduce_sum(terms, axis=-1), tf.cast(x - on_probability, products.dtype)


@tf.custom_gradient
def bernoulli_log_prob(features, kernel, bias, x):
    """log p(x|h) = sum_d (x_d l_d - softplus(l_d)) with l = h W + b.

    The backward pass needs one tensor of the size of l, the residual x - sigmoid(l).

    Args:
      features: h, [..., H].
      kernel: W, [H, D], a tensor.
      bias: b, [D], a tensor.
      x: [..., D], broadcasts against the features' leading axes; data, without a gradient.

    Returns:
      log_p_x: [...].
    """
    dtype = features.dtype
    factor = tf.cast(kernel, dtype)
    log_p_x, residual = _bernoulli(tf.tensordot(features, factor, 1), bias, x)

    def gradient(upstream):
        # A row's weight is applied to its H features, which are fewer than its D residuals.
        weight = tf.cast(upstream, dtype)[..., tf.newaxis]
        rows = tf.reshape(residual, [-1, kernel.shape[1]])
        weighted = tf.reshape(weight * features, [-1, kernel.shape[0]])
        d_features = weight * tf.tensordot(residual, factor, [[-1], [1]])
        d_kernel = tf.matmul(weighted, rows, transpose_a=True)
        d_bias = tf.linalg.matvec(rows, tf.reshape(weight, [-1]), transpose_a=True)
        return d_features, tf.cast(d_kernel, kernel.dtype), tf.cast(d_bias, bias.dtype), None

    return log_p_x, gradient
