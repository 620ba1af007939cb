"""What TensorFlow says of tracing."""

import contextlib
import logging

RETRACING = "triggered tf.function retracing"


@contextlib.contextmanager
def several_networks():
    """Not warned of: networks of which each is traced once.

    TensorFlow counts the traces of all networks as if they were those of one function that is
    called with ever other shapes, and warns from the fifth on.
    """
    logger = logging.getLogger("tensorflow")
    logger.addFilter(_is_not_of_retracing)
    try:
        yield
    finally:
        logger.removeFilter(_is_not_of_retracing)


def _is_not_of_retracing(record):
    return RETRACING not in record.getMessage()
