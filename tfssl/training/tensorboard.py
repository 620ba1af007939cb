"""What a training writes for TensorBoard: pictures of the model, latents for the projector."""

import math

import keras
import numpy as np
import tensorflow as tf

from tfssl.data.batches import in_batches
from tfssl.runs.predicting import class_probabilities

NUM_EMBEDDINGS = 1000
CONFIG = """embeddings {{
  tensor_name: "latents"
  tensor_path: "latents.tsv"
  metadata_path: "metadata.tsv"
{sprite}}}
"""
SPRITE = """  sprite {{
    image_path: "sprite.png"
    single_image_dim: {width}
    single_image_dim: {height}
  }}
"""


class Pictures(keras.callbacks.Callback):
    """Write pictures of the model to TensorBoard at the first, the last and some epochs between.

    Args:
      draw: () -> {name: images [N, height, width, channels] in [0, 1]}.
      folder: TensorBoard's log folder.
      times: about how often over the whole training.
    """

    def __init__(self, draw, folder, times=10):
        super().__init__()
        self.draw = draw
        self.writer = tf.summary.create_file_writer(str(folder))
        self.times = times

    def on_epoch_end(self, epoch, logs=None):
        epochs = self.params["epochs"]
        if epoch + 1 != epochs and epoch % max(1, epochs // self.times):
            return
        with self.writer.as_default():
            for name, images in self.draw().items():
                tf.summary.image(name, images, step=epoch, max_outputs=1)
        self.writer.flush()


def write_latents(folder, experiment, model, classifier):
    """Latents of some training points for the projector, with the classes given and predicted."""
    parts, preprocessing = experiment.split, experiment.preprocessing
    x = parts.x_train[:NUM_EMBEDDINGS]
    names = np.array(experiment.source.class_names)
    given = np.array(["-"] * len(x), dtype=object)
    given[: len(parts.label)] = names[parts.label][: len(x)]
    probabilities = class_probabilities(model, classifier, preprocessing, x)
    images = None
    if experiment.source.image_shape is not None:
        images = preprocessing.intensities(preprocessing(x))
    write_embeddings(
        folder,
        in_batches(lambda x: model.latents(preprocessing(x)), x),
        {"predicted": names[probabilities.argmax(axis=1)], "given": given},
        images,
    )


def write_embeddings(folder, latents, columns, images=None):
    """Write the projector's files into TensorBoard's log folder.

    Args:
      folder: TensorBoard's log folder.
      latents: [N, latent_dim].
      columns: {name: N strings}, shown as labels.
      images: [N, height, width, channels] intensities, or None.
    """
    folder.mkdir(parents=True, exist_ok=True)
    np.savetxt(folder / "latents.tsv", latents, fmt="%.5g", delimiter="\t")
    rows = zip(*columns.values(), strict=True)
    lines = ["\t".join(columns), *("\t".join(_one_line(c) for c in row) for row in rows)]
    (folder / "metadata.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sprite = ""
    if images is not None:
        height, width = images.shape[1:3]
        (folder / "sprite.png").write_bytes(_square_sheet(images))
        sprite = SPRITE.format(width=width, height=height)
    (folder / "projector_config.pbtxt").write_text(CONFIG.format(sprite=sprite), encoding="utf-8")


def _one_line(text):
    return str(text).replace("\t", " ").replace("\n", " ")


def _square_sheet(images):
    side = math.ceil(math.sqrt(len(images)))
    padded = np.zeros((side * side, *images.shape[1:]), np.float32)
    padded[: len(images)] = images
    tiles = padded.reshape(side, side, *images.shape[1:]).swapaxes(1, 2)
    height, width, channels = images.shape[1:]
    sheet = tiles.reshape(side * height, side * width, channels)
    return tf.io.encode_png((sheet * 255).astype(np.uint8)).numpy()
