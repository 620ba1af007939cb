"""Settings that suit a data set: what a user gets who sets nothing.

What they rest on: M1+M2 on MNIST and SVHN, and the embedded digits; those for tables are the
estimator's, with more weight on the labels. An explicit setting always wins over these.
"""

import math

import numpy as np

from tfssl.data.loading import source_of
from tfssl.data.source import NO_LABEL
from tfssl.settings import merged, parse_settings, read_values
from tfssl.settings.kinds import UNBOUNDED

# Principal components of colour images that are worth learning from.
COMPONENTS = 200
# Of a class, before any of its labels are spent on testing; and on validation.
ENOUGH_TO_TEST, ENOUGH_TO_VALIDATE = 20, 50
# Steps of a training that has settled, and the fewest and most epochs.
M1_STEPS, M2_STEPS, EPOCHS = 10_000, 20_000, (10, 200)
# From so many classes on, enumerating them all takes too long.
MANY_CLASSES = 25
# Rows that are looked at to tell binary features from others, or features that hardly vary.
SAMPLE = 10_000


def kind_of(source):
    """ "colour images", "grey images", "counts", "binary features" or "features"."""
    if source.image_shape is not None:
        if source.levels != 255:
            return "counts"
        return "colour images" if len(source.image_shape) == 3 else "grey images"
    if source.levels is not None:
        return "counts"
    sample = source.x[:SAMPLE]
    return "binary features" if np.isin(sample, (0, 1)).all() else "features"


def recommend(source):
    """Settings for a `Source`: [(key, value, why)], the keys as --set has them."""
    kind = kind_of(source)
    entries = _data_settings(source, kind)
    entries += {
        "colour images": _colour_images,
        "grey images": _grey_images,
        "counts": _counts,
        "binary features": _binary_features,
        "features": _features,
    }[kind](source)
    if source.num_classes >= MANY_CLASSES:
        why = f"{source.num_classes} classes: enumerating the likeliest ones is faster"
        entries += [("m2.top_classes", 2, why), ("m2.full_enumeration", 0.1, why)]
    return entries


def automatic_settings(data, label=None, config=None, overrides=None):
    """Settings for a data set: what is set explicitly, and for all else what suits the data.

    Args:
      data: a name or a path.
      label: the label column or feature, or None.
      config: a settings file, or None.
      overrides: "key=value" strings, or None.

    Returns:
      settings: the resolved `Settings`.
      source: the data set.
      chosen: [(key, value, why)] of what was chosen automatically.
    """
    explicit = merged(read_values(config, overrides or ()), {"data": {"name": data}})
    if label is not None:
        explicit["data"]["label"] = label
    source = source_of(parse_settings(explicit, where=config).data)
    entries = recommend(source)
    if explicit.get("model", "auto") == "auto":
        entries = for_choice(entries)
    if _is_set(explicit, "data.whitening") and kind_of(source) == "features":
        entries = [entry for entry in entries if entry[0] != "likelihood"]
        entries += [("likelihood", "gaussian", "principal components: each standardised")]
    wanted = merged(nested(entries), explicit)
    unused: tuple[str, ...] = {"m1": ("m2.",), "m2": ("m1.",)}.get(wanted["model"], ())
    if wanted["model"] == "auto":
        beside = wanted.get("auto", {}).get("with_generative", False)
        unused = ("m1.",) if beside else ("m1.", "m2.")
    if wanted["likelihood"] not in UNBOUNDED:  # the others do not fit components
        unused += ("data.whitening",)
    chosen = [
        entry
        for entry in entries
        if not _is_set(explicit, entry[0]) and not entry[0].startswith(unused)
    ]
    return parse_settings(merged(nested(chosen), explicit), where=config), source, chosen


def for_choice(entries):
    """The entries of `recommend` where classifiers are compared: each sees x in its own way.

    Every label is held out in turn, so none is spent on validation.
    """
    reasons = {
        "model": ("auto", "classifiers are compared by held-out labels, the answer is of the best"),
        "likelihood": ("bernoulli", "colours as intensities from 0 to 1"),
    }
    values = {key: value for key, value, _ in entries}
    if values["likelihood"] != "isotropic":
        del reasons["likelihood"]
    return [
        (key, *reasons.get(key, (value, why)))
        for key, value, why in entries
        if key not in ("data.num_validation", "data.whitening")
    ]


def nested(entries):
    """The entries of `recommend` as nested dictionaries."""
    values: dict = {}
    for key, value, _ in entries:
        *parents, name = key.split(".")
        section = values
        for parent in parents:
            section = section.setdefault(parent, {})
        section[name] = value
    return values


def _is_set(values, key):
    """Whether nested dictionaries hold a key such as "m2.epochs"."""
    for part in key.split("."):
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True


def _data_settings(source, kind):
    counts = np.bincount(source.label[source.label != NO_LABEL], minlength=source.num_classes)
    fewest, total = int(counts.min()), int(counts.sum())
    own_test = len(source.x_test) > 0
    num_test = 0 if own_test or fewest < ENOUGH_TO_TEST else total // 5
    num_validation = 0 if fewest < ENOUGH_TO_VALIDATE else total // 10
    rare = f"the rarest class has {fewest} labels"
    entries = [
        ("data.num_labelled", "all", f"every one of {total} labels"),
        ("data.num_test", num_test, "the data has test points" if own_test else rare),
        ("data.num_validation", num_validation, rare),
    ]
    if total < len(source.label) and not source.image_shape:
        entries.append(("m2.class_prior", "learned", "from the shares that the model finds"))
    else:
        entries.append(("m2.class_prior", "labelled", f"labels by class: {_shares(counts)}"))
    if kind.endswith("images") and source.schema is not None:
        size = [source.schema["height"], source.schema["width"]]
        entries += [
            ("data.image_size", size, "of the pictures, shrunk if they are large"),
            ("data.colour", source.schema["channels"] == 3, "of the pictures"),
        ]
    if source.schema is not None and source.schema["format"] == "table":
        entries.append(("data.label", source.schema["label"], "the label column"))
    return entries


def _shares(counts):
    if counts.min() == counts.max():
        return f"{counts[0]} of each"
    return f"{counts.min()} to {counts.max()}"


def _colour_images(source):
    why = "colour images: as on SVHN"
    pixels = int(np.prod(source.image_shape))
    components = min(COMPONENTS, pixels // 2, len(source.x) // 2)
    return [
        ("model", "m1m2", "images: M2 learns from M1's features"),
        ("likelihood", "isotropic", "principal components of colour images: one scale for all"),
        ("data.whitening", components, f"principal components of {pixels} values"),
        ("m1.latent_dim", 64, why),
        ("m1.hidden_units", [500, 500], why),
        ("m1.kl_warmup", 0.2, why),
        *_steps(source, "m1", M1_STEPS, 1e-3, (250, 50)),
        ("m2.hidden_units", [500, 500], why),
        ("m2.classification_weight", 20.0, why),
        ("m2.supervised_steps", 1500, why),
        *_steps(source, "m2", M2_STEPS // 4, 1e-3, (100, 50)),
    ]


def _grey_images(source):
    why = "grey images: as on MNIST"
    return [
        ("model", "m1m2", "images: M2 learns from M1's features"),
        ("likelihood", "bernoulli", "grey levels as intensities from 0 to 1"),
        ("m1.latent_dim", 50, why),
        ("m1.hidden_units", [600, 600] if np.prod(source.image_shape) > 256 else [200], why),
        ("m1.kl_warmup", 0.2, why),
        *_steps(source, "m1", M1_STEPS, 1e-3, (250, 50)),
        ("m2.latent_dim", 10, why),
        ("m2.hidden_units", [300], why),
        ("m2.classification_weight", 1.0, why),
        *_steps(source, "m2", M2_STEPS, 3e-3, (100, 50)),
    ]


def _counts(source):
    return [
        ("model", "m1", "small images of counts: as on the digits"),
        ("likelihood", "binomial", f"whole numbers from 0 to {source.levels}"),
        *_steps(source, "m1", M1_STEPS, 3e-3, (250, 50)),
        *_steps(source, "m2", M2_STEPS, 3e-3, (100, 50)),
    ]


def _binary_features(source):
    return [
        ("model", "m2", "features: M2 learns from them as they are"),
        ("likelihood", "bernoulli", "every value is 0 or 1"),
        *_small_m2(source),
    ]


def _features(source):
    return [
        ("model", "m2", "features: M2 learns from them as they are"),
        ("likelihood", "columns", "0 and 1 as coins, numbers as Gaussians of a fixed width each"),
        *_small_m2(source),
    ]


def _small_m2(source):
    dim = int(np.prod(source.x.shape[1:]))
    return [
        ("m2.latent_dim", max(2, min(10, dim // 2)), f"{dim} features"),
        ("m2.hidden_units", [100], "a table"),
        ("m2.classification_weight", 1.0, "a table: labels weigh like features"),
        ("m2.labelled_share", 0.5, "few labels: their bound weighs as much as all the others'"),
        ("m2.warm_start", "classifier", "a decoder cannot learn from a few rows alone"),
        ("m2.clip_norm", 50.0, "rare values make large gradients"),
        *_steps(source, "m2", M2_STEPS, 3e-3, (100, 50)),
    ]


def _steps(source, stage, steps, rate, batch_sizes):
    """Epochs, batch size and rate: about `steps` steps, larger batches of larger sets."""
    count = len(source.x)
    batch_size = batch_sizes[0] if count >= 10_000 else batch_sizes[1]
    fewest, most = EPOCHS
    epochs = round(steps / math.ceil(count / batch_size))
    why = f"{count} training points"
    return [
        (f"{stage}.epochs", min(max(epochs, fewest), most), why),
        (f"{stage}.batch_size", batch_size, why),
        (f"{stage}.learning_rate", rate, why),
    ]
