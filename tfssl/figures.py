"""Pictures of what a model has learned, as arrays of intensities in [0, 1]."""

import numpy as np
import tensorflow as tf

from tfssl.models import M1, M2


def image_grid(images, rows):
    """Tile images [rows * columns, height, width(, channels)] into one picture [H, W, channels]."""
    images = np.asarray(images)
    images = images[..., np.newaxis] if images.ndim == 3 else images
    count, height, width, channels = images.shape
    columns = count // rows
    tiles = images.reshape(rows, columns, height, width, channels)
    return tiles.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, channels)


def reconstructions(model, x):
    """E[x|z] at the mean of q(z|x) under the most probable class; x and result [N, D]."""
    if isinstance(model, M1):
        return model.generate(model.latents(x)).numpy()
    y = tf.one_hot(tf.argmax(model(x), axis=-1), model.num_classes)
    return model.generate(y, model.styles(x, y)).numpy()


def class_samples(model, styles):
    """E[x|y,z] for every style z (rows) and every class y (columns): [N * K, D].

    Args:
      model: M2 or StackedM1M2.
      styles: z, [N, latent_dim].
    """
    every_y = tf.eye(model.num_classes)
    images = model.generate(every_y, tf.convert_to_tensor(styles)[:, tf.newaxis])
    return images.numpy().reshape(-1, images.shape[-1])


def to_images(x, preprocessing):
    """What a model sees [N, D] -> intensities [N, height, width, channels] in [0, 1]."""
    images = preprocessing.inverse(x).numpy() / preprocessing.total_count
    images = images[..., np.newaxis] if images.ndim == 3 else images
    return np.clip(images, 0.0, 1.0)


def training_pictures(model, x, preprocessing, num_styles=10):
    """Pictures for TensorBoard: {name: [1, height, width, channels]}.

    Args:
      model: M1, M2 or StackedM1M2.
      x: [N, D] inputs to reconstruct, as the model sees them.
      preprocessing: gives the pixels back.
      num_styles: rows of class-conditional samples.
    """
    pairs = np.concatenate([np.asarray(x), reconstructions(model, x)])
    pictures = {"reconstructions": image_grid(to_images(pairs, preprocessing), rows=2)}
    if not isinstance(model, M1):
        latent_dim = (model if isinstance(model, M2) else model.m2).latent_dim
        # The same styles at every epoch, so that one can watch them take shape.
        styles = np.random.default_rng(0).standard_normal((num_styles, latent_dim), np.float32)
        samples = to_images(class_samples(model, styles), preprocessing)
        pictures["class_samples"] = image_grid(samples, rows=num_styles)
    return {name: picture[np.newaxis] for name, picture in pictures.items()}
