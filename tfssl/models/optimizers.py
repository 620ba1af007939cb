"""Adam as one TensorFlow kernel per variable, and the learning-rate schedule of a run."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable("tfssl")
class FusedAdam(keras.optimizers.Adam):
    """`keras.optimizers.Adam`, each variable updated in one pass over memory instead of a dozen.

    The numbers are those of Keras' Adam up to rounding. Sparse gradients are made dense.
    `global_clipnorm` is one of the gradient of the whole batch, however many devices share it.
    """

    def _clip_gradients(self, grads):
        return grads if self.global_clipnorm else super()._clip_gradients(grads)

    def _all_reduce_sum_gradients(self, grads_and_vars):
        summed = super()._all_reduce_sum_gradients(grads_and_vars)
        if not self.global_clipnorm:
            return summed
        gradients, variables = zip(*summed, strict=True)
        # Dense: of a sparse one, rows that come twice would count apart.
        dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
        clipped, _ = tf.clip_by_global_norm(dense, self.global_clipnorm)
        return list(zip(clipped, variables, strict=True))

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        step = tf.cast(self.iterations + 1, variable.dtype)
        beta_1, beta_2, epsilon, rate = (
            tf.cast(value, variable.dtype)
            for value in (self.beta_1, self.beta_2, self.epsilon, learning_rate)
        )
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=tf.pow(beta_1, step),
            beta2_power=tf.pow(beta_2, step),
            lr=rate,
            beta1=beta_1,
            beta2=beta_2,
            epsilon=epsilon,
            grad=tf.cast(tf.convert_to_tensor(gradient), variable.dtype),
        )


@keras.saving.register_keras_serializable("tfssl")
class HoldThenDecay(keras.optimizers.schedules.LearningRateSchedule):
    """A constant rate, then a straight line to zero.

    Args:
      learning_rate: the rate held.
      steps: all steps of training.
      decay_start: the share of them after which the rate falls.
    """

    def __init__(self, learning_rate, steps, decay_start):
        self.learning_rate = learning_rate
        self.steps = steps
        self.decay_start = decay_start

    def __call__(self, step):
        left = 1.0 - tf.cast(step, tf.float32) / self.steps
        return self.learning_rate * tf.clip_by_value(left / (1.0 - self.decay_start), 0.0, 1.0)

    def get_config(self):
        return {
            "learning_rate": self.learning_rate,
            "steps": self.steps,
            "decay_start": self.decay_start,
        }
