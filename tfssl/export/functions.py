"""What a trained run computes for a client: named, deterministic functions of named tensors.

They are the signatures of an exported SavedModel and the graphs of a TFLite file. Every one takes
a batch of any size and contains plain TensorFlow operations only: no Python, no sampling (noise is
an input) and no compiled loops.

  classify        x        -> probabilities [B, K], label [B], label_name [B], entropy [B] in nats
  encode          x        -> loc, scale [B, L] of z; label [B], the class that z is given
  decode          y, z     -> x, the mean of p(x|y,z)
  generate        y, noise -> x, the mean of p(x|...) with latents drawn from their prior
  reconstruct     x        -> x
  analogies       x        -> x [B, K, ...], the style of the input in every class
  log_likelihood  x, noise -> bound [B], log_likelihood [B] in nats of what the model sees

The probabilities are scaled by the run's temperature, if it has one, see `runs.calibration`.

The answer of a choice (model = "auto") classifies; the other functions are those of the M2 that was
trained beside it, if one was.

M1 has no y: `decode` takes z, `generate` noise, and there are no analogies. M2 and the stack encode
x as its most probable class; z is M2's z, the stack's z2. The noise of `generate` is [B, L], or for
the stack [B, L + the size of z1]; that of `log_likelihood` [B, samples, M] with M = `noise_dim`.
Both are standard normal. A Bernoulli density is one of binary images: give it such.

Images come in as they are stored, uint8 up to the number of grey levels. The twin with the suffix
`_float` takes intensities in [0, 1] instead. Images go out as intensities in [0, 1]. Features that
are no images come and go in their own units, as float64 and float32.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import tensorflow as tf

from tfssl.export.blend_graphs import blend_graph
from tfssl.export.classifier_graphs import classifier_graph
from tfssl.models import objectives
from tfssl.runs.provenance import m1_of

TINY = np.finfo(np.float32).tiny

# Takes x as stored; has a twin that takes intensities if these are images.
OF_INPUTS = ("classify", "encode", "reconstruct", "analogies", "log_likelihood")


@dataclass(frozen=True)
class Function:
    """A function of named tensors.

    Attributes:
      name: such as "classify".
      call: takes the inputs by name, returns {name: tensor}. It fits other floating types of x too.
      inputs: {name: tf.TensorSpec}, the first axis is the batch, of any size.
    """

    name: str
    call: Callable
    inputs: dict[str, tf.TensorSpec]


def functions(run, dtype=tf.float64):
    """{name: `Function`} of a `TrainedRun`; "classify" comes first.

    Args:
      run: a `TrainedRun`.
      dtype: what M1's classifier computes in, see `classifier_graphs`.
    """
    found = {
        name: Function(name, getattr(computations, name), computations.inputs(name))
        for computations in _computations(run, dtype)
        for name in computations.names
    }
    if run.preprocessing.levels is None:
        return found
    twins = (_twin(found[name], run.preprocessing.levels) for name in OF_INPUTS if name in found)
    return found | {twin.name: twin for twin in twins}


def _twin(function, levels):
    """The same function of intensities in [0, 1]."""
    spec = tf.TensorSpec(function.inputs["x"].shape, tf.float32, "x")

    def call(x, **others):
        return function.call(x=levels * x, **others)

    return Function(f"{function.name}_float", call, function.inputs | {"x": spec})


def _computations(run, dtype):
    """Those of the model, if there is one, with those of a blend laid over them."""
    if run.blend is not None:
        beside = [_BesideABlend(run)] if run.model is not None else []
        return [_BlendComputations(run, dtype), *beside]
    if not run.model.has_classes:
        return [_M1Computations(run, dtype)]
    return [_M2Computations(run) if m1_of(run.model) is None else _StackComputations(run)]


class _Computations:
    """What the models share."""

    names: tuple[str, ...] = ()

    def __init__(self, run):
        self.model = run.model
        self.preprocessing = _with_variables(run.preprocessing)
        self.class_names = run.class_names
        self.calibration = run.calibration

    def inputs(self, name):
        """{name: tf.TensorSpec} of the function's arguments."""
        x = {"x": self.stored}
        if name in ("classify", "encode", "reconstruct", "analogies"):
            return _specs(x)
        y = {"y": ([None], tf.int32)} if "analogies" in self.names else {}
        own = {
            "decode": y | {"z": ([None, self.model.style_dim], tf.float32)},
            "generate": y | {"noise": ([None, self.model.noise_dim], tf.float32)},
            "log_likelihood": x | {"noise": ([None, None, self.model.noise_dim], tf.float32)},
        }
        return _specs(own[name])

    @property
    def stored(self):
        """Shape and type of x as it is stored."""
        kind = tf.float64 if self.preprocessing.levels is None else tf.uint8
        return [None, *self.preprocessing.shape], kind

    def scores(self, x):
        """x [B, D] as the model sees it -> unnormalised log p(y|x), [B, K]."""
        raise NotImplementedError

    def probabilities(self, scores):
        """p(y|x), or p_T(y|x), from its scores, float32.

        `classifiers.temperature.scaled` is the same in numpy: every export is checked against it.
        """
        if self.calibration is not None:
            log_p = tf.maximum(tf.nn.log_softmax(scores), math.log(TINY))
            scores = log_p / self.calibration.temperature
        return tf.cast(tf.nn.softmax(scores), tf.float32)

    def over_classes(self, x, bound, log_joint):
        """The outputs of `log_likelihood` from the two means, [B], or [B, K] of every class."""
        raise NotImplementedError

    def classify(self, x):
        scores = self.scores(self.preprocessing(x))
        label = tf.argmax(scores, axis=-1, output_type=tf.int32)
        probabilities = self.probabilities(scores)
        # A probability of 0 adds 0, and not 0 log 0.
        log = tf.math.log(tf.maximum(probabilities, TINY))
        return {
            "probabilities": probabilities,
            "label": label,
            "label_name": tf.gather(tf.constant(self.class_names), label),
            "entropy": -tf.reduce_sum(probabilities * log, axis=-1),
        }

    def log_likelihood(self, x, noise):
        """The two means over the samples of the weights p(x, y, z) / q(z|x,y) of `log_weights`."""
        x = self.preprocessing(x)
        proposal = self.model.proposal(x)
        log_weights = tf.map_fn(  # one sample after another, to bound the memory
            lambda epsilon: self.model.log_weights(x, proposal, epsilon),
            tf.transpose(noise, [1, 0, 2]),
            parallel_iterations=1,
            fn_output_signature=tf.float32,
        )
        num_samples = tf.cast(tf.shape(noise)[1], tf.float32)
        log_joint = tf.reduce_logsumexp(log_weights, axis=0) - tf.math.log(num_samples)
        return self.over_classes(x, tf.reduce_mean(log_weights, axis=0), log_joint)

    def pixels(self, x):
        """What the model generates [N, D] -> intensities in [0, 1], or features in their units."""
        stored, levels = self.preprocessing.inverse(x), self.preprocessing.levels
        return stored if levels is None else tf.clip_by_value(stored / levels, 0.0, 1.0)


class _BlendComputations(_Computations):
    names = ("classify",)

    def __init__(self, run, dtype):
        super().__init__(run)
        self.blend = blend_graph(run.blend, dtype)

    def scores(self, x):
        return self.blend(x)


class _M1Computations(_Computations):
    names = ("classify", "encode", "decode", "generate", "reconstruct", "log_likelihood")

    def __init__(self, run, dtype):
        super().__init__(run)
        self.classifier = classifier_graph(run.classifier, dtype)

    def scores(self, x):
        return self.classifier(self.model.latents(x))

    def encode(self, x):
        q_z = self.model.encode(self.preprocessing(x)).distribution
        return {"loc": q_z.loc, "scale": q_z.scale}

    def decode(self, z):
        return {"x": self.pixels(self.model.generate(z))}

    def generate(self, noise):
        return self.decode(noise)  # p(z) is standard normal

    def reconstruct(self, x):
        return self.decode(self.model.latents(self.preprocessing(x)))

    def over_classes(self, x, bound, log_joint):
        return {"bound": bound, "log_likelihood": log_joint}


class _M2Computations(_Computations):
    names: tuple[str, ...] = (
        "classify",
        "encode",
        "decode",
        "generate",
        "reconstruct",
        "analogies",
        "log_likelihood",
    )

    def scores(self, x):
        return self.model.classify(x).logits_parameter()

    def encode(self, x):
        x = self.preprocessing(x)
        label = tf.argmax(self.scores(x), axis=-1, output_type=tf.int32)
        q_z = self.style(x, label).distribution
        return {"loc": q_z.loc, "scale": q_z.scale, "label": label}

    def style(self, x, label):
        return self.model.encode(x, label)

    def decode(self, y, z):
        return {"x": self.pixels(self.model.generate(y, z))}

    def generate(self, y, noise):
        return self.decode(y, noise)  # p(z) is standard normal

    def reconstruct(self, x):
        code = self.encode(x)
        return self.decode(code["label"], code["loc"])

    def analogies(self, x):
        every_y = tf.range(self.model.num_classes)
        images = self.model.generate(every_y, self.encode(x)["loc"][:, tf.newaxis])
        pixels = self.pixels(tf.reshape(images, [-1, images.shape[-1]]))
        return {"x": tf.reshape(pixels, [-1, self.model.num_classes, *pixels.shape[1:]])}

    def over_classes(self, x, bound, log_joint):
        return {
            "bound": -objectives.unlabelled_loss(-bound, self.scores(x)),
            "log_likelihood": tf.reduce_logsumexp(log_joint, axis=-1),
        }


class _BesideABlend(_M2Computations):
    names = tuple(name for name in _M2Computations.names if name != "classify")


class _StackComputations(_M2Computations):
    def style(self, x, label):
        m2 = self.model.m2
        return m2.encode(m2.expected(self.model.features(x)), label)

    def generate(self, y, noise):
        return {"x": self.pixels(self.model.generate_from(y, noise))}


def _specs(inputs):
    return {key: tf.TensorSpec(shape, kind, key) for key, (shape, kind) in inputs.items()}


def _with_variables(preprocessing):
    """The same with the matrix of its components as a variable, which all graphs share."""
    components = preprocessing.components
    if components is None:
        return preprocessing
    axes = tf.Variable(components.axes, trainable=False)
    return replace(preprocessing, components=replace(components, axes=axes))
