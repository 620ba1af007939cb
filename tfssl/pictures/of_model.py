"""Pictures of what a model has learned, as arrays of intensities in [0, 1]."""

import numpy as np
import tensorflow as tf


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
    if not model.has_classes:
        return model.generate(model.latents(x)).numpy()
    y = tf.one_hot(tf.argmax(model(x), axis=-1), model.num_classes)
    return model.generate(y, model.styles(x, y)).numpy()


def prior_styles(model, count):
    """Styles from the prior N(0, I), the same at every call: [count, style_dim]."""
    return np.random.default_rng(0).standard_normal((count, model.style_dim), np.float32)


def style_plane(limit=5.0, steps=15):
    """The square [-limit, limit]^2 as a picture shows it, row by row from the top.

    z[0] grows to the right and z[1] upwards: the first point is (-limit, limit).

    Returns:
      styles: [steps * steps, 2].
    """
    axis = np.linspace(-limit, limit, steps, dtype=np.float32)
    across, up = np.meshgrid(axis, axis[::-1])
    return np.stack([across, up], axis=-1).reshape(-1, 2)


def class_samples(model, styles, max_classes=None):
    """E[x|y,z] for every style z (rows) and every class y (columns): [N * K, D].

    Args:
      model: M2 or StackedM1M2.
      styles: z, [N, latent_dim].
      max_classes: only this many classes, the first ones.
    """
    every_y = tf.eye(model.num_classes)[:max_classes]
    images = model.generate(every_y, tf.convert_to_tensor(styles)[:, tf.newaxis])
    return images.numpy().reshape(-1, images.shape[-1])


def analogies(model, x, label, max_classes=None):
    """Every x in its own style as every class: E[x|y,z] at z = E[z|x, label], [N * K, D].

    The style is read with the true label of x, as in the authors' figure 1b: it shows how class and
    style come apart, and says nothing of how well the model classifies.

    Args:
      model: M2 or StackedM1M2.
      x: [N, D], as the model sees them.
      label: [N] integers, the true classes of x.
      max_classes: only this many classes, the first ones.
    """
    styles = model.styles(x, tf.one_hot(label, model.num_classes))
    return class_samples(model, styles, max_classes)


def planar(latents):
    """Latents in two dimensions, [N, 2]: as they are if they have two, else by t-SNE.

    Args:
      latents: [N, latent_dim], N and latent_dim at least 2.
    """
    if latents.shape[1] == 2:
        return latents
    from sklearn.manifold import TSNE  # heavy

    perplexity = min(30.0, len(latents) / 4)
    return TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(latents)


def training_pictures(model, x, preprocessing, num_styles=10):
    """Pictures for TensorBoard: {name: [1, height, width, channels]}.

    Args:
      model: M1, M2 or StackedM1M2.
      x: [N, D] inputs to reconstruct, as the model sees them.
      preprocessing: gives the pixels back.
      num_styles: rows of class-conditional samples.
    """
    pairs = np.concatenate([np.asarray(x), reconstructions(model, x)])
    pictures = {"reconstructions": image_grid(preprocessing.intensities(pairs), rows=2)}
    if model.has_classes:
        # The same styles at every epoch, so that one can watch them take shape.
        styles = prior_styles(model, num_styles)
        samples = preprocessing.intensities(class_samples(model, styles))
        pictures["class_samples"] = image_grid(samples, rows=num_styles)
    return {name: picture[np.newaxis] for name, picture in pictures.items()}
