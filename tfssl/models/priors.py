"""p(y) that is learned: the shares of the classes among the unlabelled points."""

import keras
import tensorflow as tf

from tfssl.models.distributions import PACKAGE

LEARNED = "learned"


@keras.saving.register_keras_serializable(PACKAGE)
class LearnedPrior(keras.layers.Layer):
    """pi = (1 - s) m + s / K, with m the moving average of the mean of q(y|x) over the batches.

    That is the mode of what N unlabelled points say of pi if it is Dirichlet before, with
    parameters 1 + a / K, s = a / (N + a): N m_k points of class k, and a / K more of each. It keeps
    a class that few points were given from dying out.

    Args:
      num_classes: K.
      pull: s, how much is left of the uniform prior that it starts from.
      memory: about how many batches the moving average reaches back.
    """

    def __init__(self, num_classes, pull=0.5, memory=100, **kwargs):
        super().__init__(**{**kwargs, "dtype": "float32"})
        self.num_classes = num_classes
        self.pull = pull
        self.memory = memory
        self.shares = self.add_weight(
            shape=(num_classes,),
            initializer=keras.initializers.Constant(1.0 / num_classes),
            trainable=False,
            # `follow` has made them the same on every replica.
            aggregation="only_first_replica",
            name="shares",
        )
        self.built = True

    @property
    def probabilities(self):
        """pi, [K]."""
        return (1.0 - self.pull) * tf.convert_to_tensor(self.shares) + self.pull / self.num_classes

    def follow(self, q_y):
        """Move m towards the mean of q(y|x) over a batch, [K]."""
        replica = tf.distribute.get_replica_context()
        if replica is not None and replica.num_replicas_in_sync > 1:
            q_y = replica.all_reduce(tf.distribute.ReduceOp.MEAN, q_y)
        shares = tf.convert_to_tensor(self.shares)
        self.shares.assign(shares + (q_y - shares) / self.memory)

    def get_config(self):
        own = {"num_classes": self.num_classes, "pull": self.pull, "memory": self.memory}
        return {**super().get_config(), **own}
