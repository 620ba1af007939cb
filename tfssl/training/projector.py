"""Latent features for TensorBoard's embedding projector: vectors, labels and thumbnails."""

import math

import numpy as np
import tensorflow as tf

from tfssl.pictures.of_model import image_grid

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
    sheet = (image_grid(padded, rows=side) * 255).astype(np.uint8)
    return tf.io.encode_png(sheet).numpy()
