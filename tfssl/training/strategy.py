"""Where training runs: distribution strategy, XLA, and batches for several replicas."""

import tensorflow as tf

from tfssl.errors import expect


def make_strategy(name):
    """A tf.distribute strategy for `device.strategy`."""
    gpus = tf.config.list_logical_devices("GPU")
    if name == "tpu" or (name == "auto" and tf.config.list_logical_devices("TPU")):
        return _tpu_strategy()
    if name == "mirrored" or (name == "auto" and len(gpus) > 1):
        # Without GPUs: over the logical CPU devices, which is how the tests run it.
        return tf.distribute.MirroredStrategy(
            None if gpus else [d.name for d in tf.config.list_logical_devices("CPU")]
        )
    return tf.distribute.get_strategy()


def _tpu_strategy():
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (ValueError, tf.errors.OpError) as error:
        expect(False, "device.strategy=tpu needs a TPU that TensorFlow can reach", cause=str(error))
    return tf.distribute.TPUStrategy(resolver)


def use_jit(jit_compile):
    """Whether to compile with XLA; "auto" leaves it off on a CPU, where it is slower."""
    if jit_compile != "auto":
        return jit_compile
    return bool(tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("TPU"))


def check_batch_sizes(settings, strategy):
    """Fail early if a batch cannot be shared out among the devices."""
    replicas = strategy.num_replicas_in_sync
    sizes = {
        "m1.batch_size": settings.m1.batch_size,
        "m2.batch_size": settings.m2.batch_size,
        "m2.labelled_batch_size": settings.m2.labelled_batch_size,
    }
    for name, size in sizes.items():
        expect(
            size % replicas == 0,
            f"`{name}` must be a multiple of the number of devices",
            batch_size=size,
            devices=replicas,
        )


def per_replica(batch_size, strategy):
    """Rows of a batch for each replica."""
    return batch_size // strategy.num_replicas_in_sync


def distribute(dataset, strategy):
    """Give replica r of R every R-th batch, so that R small batches make one large one."""
    if strategy.num_replicas_in_sync == 1:
        return dataset
    return strategy.distribute_datasets_from_function(lambda _: dataset)
