"""How the sum over classes of an unlabelled example is treated."""

import keras


class TruncateLater(keras.callbacks.Callback):
    """Enumerate every class at first, and M2's `top_classes` only from some epoch on.

    Args:
      share: the share of all epochs that enumerate fully.
    """

    def __init__(self, share):
        super().__init__()
        self.share = share

    def on_epoch_begin(self, epoch, logs=None):
        full = epoch < self.share * self.params["epochs"]
        if full != self.model.enumerates_fully:
            self.model.enumerates_fully = full
            self.model.make_train_function(force=True)
