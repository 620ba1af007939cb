"""Builds and fits the networks of an experiment, stage by stage.

A stage is one network's training: M1, then M2 on x or on M1's features. Each stage has a checkpoint
that restores it exactly, so an interrupted run ends with the same weights as an uninterrupted one.
"""

import keras
import numpy as np

from tfssl import classifiers
from tfssl.data import batches
from tfssl.data.on_disk import Rows
from tfssl.models import M1, M2, LatentM2, StackedM1M2, active_dimensions
from tfssl.models.enumeration import TruncateLater
from tfssl.models.optimizers import FusedAdam, HoldThenDecay
from tfssl.pictures import of_model
from tfssl.runs.predicting import class_probabilities
from tfssl.training.checkpoint import Checkpoint
from tfssl.training.divergence import StopOnDivergence, explain_divergence
from tfssl.training.progress import ShowProgress
from tfssl.training.strategy import distribute, per_replica, use_jit
from tfssl.training.tensorboard import Pictures, write_embeddings
from tfssl.training.weights import AveragedWeights, SelectedWeights, averaged_variables

MAX_STEPS_PER_CALL = 64
NUM_PICTURES = 10
NUM_EMBEDDINGS = 1000
NUM_FOR_CHANCE = 1000


class Trainer:
    """Builds and fits the networks of one experiment.

    Args:
      experiment: an `Experiment`.
      strategy: from `devices.make_strategy`.
      folder: a `RunFolder` for checkpoints and logs, or None to keep everything in memory.
      verbose: whether to show progress.

    Attributes:
      history: {stage: one dictionary per epoch}; with nobody watching (no folder, no validation,
        not verbose), short epochs are reported several at a time.
      seconds: {stage: how long it trained}, interruptions not counted.
      selected: `SelectedWeights` of M2, those of the lowest validation error; None without M2.
    """

    def __init__(self, experiment, strategy, folder=None, verbose=True):
        self.experiment = experiment
        self.settings = experiment.settings
        self.strategy = strategy
        self.folder = folder
        self.verbose = verbose
        self.history = {}
        self.seconds = {}
        self.selected = None

    def run(self, m1=None):
        """Train what `settings.model` asks for: (model, classifier or None).

        The model is a copy without its optimizer and without the devices it was trained on.
        """
        if self.settings.model == "m2":
            return self.train_m2().without_optimizer(), None
        m1 = m1 or self.train_m1()
        if self.settings.model == "m1m2":
            return self.train_stack(m1).without_optimizer(), None
        m1 = m1.without_optimizer()
        return m1, self.train_classifier(m1)

    def train_m1(self):
        """M1 on every training input, without labels."""
        settings, preprocessing = self.settings, self.experiment.preprocessing
        with self.strategy.scope():
            m1 = M1(
                preprocessing.dim,
                settings.m1.latent_dim,
                settings.m1.hidden_units,
                settings.likelihood,
                preprocessing.total_count,
                seed=settings.seed,
                dtype=settings.device.precision,
            )
        parts, transform = self.experiment.split, self.transform
        x = self.stored(parts.x_train)

        def dataset(start_step):
            rows = per_replica(settings.m1.batch_size, self.strategy, "m1.batch_size")
            return batches.unlabelled(
                x, rows, settings.seed, transform, start_step, settings.data.max_shift
            )

        epoch = plan_epoch(len(x), settings.m1.batch_size)
        m1.kl_warmup_steps = settings.m1.kl_warmup * settings.m1.epochs * epoch[0]
        validation = self.validation(self.stored(parts.x_validation), settings.m1, transform)
        chance = self.chance(m1, x, transform)
        self.fit("m1", m1, m1, settings.m1, dataset, epoch, validation, chance)
        return m1

    @property
    def transform(self):
        """What is left to do with a batch of `stored` inputs, or None."""
        x, preprocessing = self.experiment.split.x_unlabelled, self.experiment.preprocessing
        compact = x.dtype == np.uint8 and preprocessing.whitening is None
        waiting = compact or isinstance(x, Rows) or self.settings.data.max_shift > 0
        return preprocessing if waiting else None

    def stored(self, x):
        """Training inputs as they wait: on disk, as compact images, or as what the model sees.

        To whiten every batch anew takes long; only inputs that do not fit into memory, and images
        that are moved at every step, are.
        """
        return self.apply(lambda x: x, x) if self.transform is None else x

    def train_classifier(self, m1):
        """The classifier on the means of M1's latents."""
        classifier = classifiers.make_classifier(self.settings.m1.classifier, self.settings.seed)
        parts = self.experiment.split
        features = [self.apply(m1.latents, x) for x in (parts.x_labelled, parts.x_unlabelled)]
        return classifiers.fit_classifier(classifier, features[0], parts.label, features[1])

    def train_m2(self):
        """M2 on x itself."""
        preprocessing = self.experiment.preprocessing
        with self.strategy.scope():
            m2 = self.make_m2(M2, preprocessing.dim, self.settings.likelihood)
        self.fit_m2(m2, m2, self.stored, self.transform)
        return m2

    def train_stack(self, m1):
        """M2 on q(z1|x) of a trained M1, computed once unless x itself changes at every step."""
        latents = self.apply(m1.latents, self.experiment.split.x_train)
        active = active_dimensions(latents, self.settings.m2.active_threshold)
        with self.strategy.scope():
            noise_scale = self.settings.m2.noise_scale
            m2 = self.make_m2(LatentM2, len(active), "gaussian", noise_scale=noise_scale)
            stack = StackedM1M2(m1, m2, active)
        if self.settings.data.max_shift:
            preprocessing = self.experiment.preprocessing
            self.fit_m2(m2, stack, lambda x: x, lambda x: stack.features(preprocessing(x)))
        else:
            self.fit_m2(m2, stack, lambda x: self.apply(stack.features, x), None)
        return stack

    def make_m2(self, cls, input_dim, likelihood, **options):
        settings, parts = self.settings.m2, self.experiment.split
        return cls(
            input_dim,
            self.experiment.source.num_classes,
            len(parts.label),
            len(parts.x_unlabelled),
            settings.latent_dim,
            settings.hidden_units,
            likelihood,
            self.experiment.preprocessing.total_count,
            settings.posterior_scale,
            self.experiment.class_prior,
            settings.classification_weight,
            settings.top_classes,
            seed=self.settings.seed,
            dtype=self.settings.device.precision,
            **options,
        )

    def fit_m2(self, m2, whole, stored, transform):
        """Fit M2 on `stored(x)`, on which `transform` acts batch by batch."""
        settings, parts = self.settings.m2, self.experiment.split
        labelled = (stored(parts.x_labelled), parts.label)
        unlabelled = stored(parts.x_unlabelled) if len(parts.x_unlabelled) else None
        batch_sizes = [
            per_replica(size, self.strategy, "m2 batch size")
            for size in (settings.labelled_batch_size, settings.batch_size)
        ]

        def dataset(start_step, unlabelled=unlabelled):
            return batches.semi_supervised(
                labelled,
                unlabelled,
                m2.num_classes,
                batch_sizes,
                self.settings.seed,
                transform,
                start_step,
                self.settings.data.max_shift,
            )

        chance = self.chance(m2, labelled[0], transform)
        if settings.supervised_steps and not self.has_checkpoint("m2"):
            self.warm_start(m2, dataset(0, unlabelled=None), chance)
        validation = None
        if len(parts.x_validation):
            validation = self.validation(stored(parts.x_validation), settings, transform)
        if unlabelled is None:
            epoch = plan_epoch(len(parts.label), settings.labelled_batch_size)
        else:
            epoch = plan_epoch(len(unlabelled), settings.batch_size)
        self.fit("m2", m2, whole, settings, dataset, epoch, validation, chance)

    @staticmethod
    def chance(network, x, transform):
        """What the network would lose on `stored` inputs if it learned nothing, in nats."""
        x = x[:NUM_FOR_CHANCE]
        return network.chance_loss(x if transform is None else transform(x).numpy())

    def warm_start(self, m2, batches, chance):
        """Train M2 on labels alone: q(y|x) then starts from the labels, not from chance.

        It is short, so an interrupted run repeats it; the result is the same.
        """
        settings = self.settings.m2
        steps_per_call = largest_divisor(settings.supervised_steps, MAX_STEPS_PER_CALL)
        self.compile(m2, settings.learning_rate, steps_per_call)
        with explain_divergence("m2 on labels alone", m2, settings.supervised_steps):
            m2.fit(
                distribute(batches, self.strategy),
                steps_per_epoch=settings.supervised_steps,
                callbacks=[StopOnDivergence(chance)],
                shuffle=False,
                verbose=0,
            )

    def validation(self, x, settings, transform):
        """One pass over the validation points, or None if there are none."""
        if not len(x):
            return None
        return batches.evaluation(
            x,
            self.experiment.split.label_validation,
            self.experiment.source.num_classes,
            max(settings.batch_size, 500),
            transform,
        )

    def fit(self, stage, network, whole, settings, batches, epoch, validation, chance):
        """Train one network, from its checkpoint if there is one.

        Args:
          stage: "m1" or "m2".
          network: what is trained.
          whole: the model it is part of, for the pictures.
          settings: `FitSettings`.
          batches: start_step -> endless dataset of per-replica batches.
          epoch: from `plan_epoch`.
          validation: dataset or None.
          chance: from `chance`.
        """
        steps, steps_per_call = epoch
        all_steps, epochs = settings.epochs * steps, settings.epochs
        if self.folder is None and validation is None and not self.verbose:
            # Keras takes longer over the end of an epoch than over a dozen small steps.
            together = largest_divisor(epochs, max(1, MAX_STEPS_PER_CALL // steps))
            steps, epochs = steps * together, epochs // together
            steps_per_call *= together
        rate = HoldThenDecay(settings.learning_rate, all_steps, settings.decay_start)
        averaging_steps = settings.averaging * all_steps
        self.compile(network, rate, steps_per_call, averaging_steps)
        checkpoint = Checkpoint(self.checkpoint_path(stage), self.settings.checkpoint_seconds)
        done = checkpoint.restore(network)
        callbacks = [StopOnDivergence(chance), *self.callbacks(stage, whole)]
        if stage == "m2":
            path = None if self.folder is None else self.folder / stage / "selected.npz"
            self.selected = SelectedWeights(path)
            self.selected.restore(checkpoint.history)
            callbacks.append(self.selected)
        if done < epochs:
            start_step = done * steps * self.strategy.num_replicas_in_sync
            with explain_divergence(stage, network, all_steps // settings.epochs, checkpoint.path):
                network.fit(
                    distribute(batches(start_step), self.strategy),
                    steps_per_epoch=steps,
                    initial_epoch=done,
                    epochs=epochs,
                    validation_data=validation,
                    validation_freq=settings.evaluate_every,
                    callbacks=[*callbacks, checkpoint],
                    shuffle=False,
                    verbose=0,
                )
        for weight, average in averaged_variables(network):
            weight.assign(average)
        self.history[stage] = checkpoint.history
        self.seconds[stage] = round(checkpoint.elapsed, 1)

    def compile(self, network, learning_rate, steps_per_call, averaging_steps=0.0):
        """Give the network a new optimizer: Adam, with averaged weights if there is a window."""
        # Keras 3.15 cannot run several steps in one call on several replicas.
        single = self.strategy.num_replicas_in_sync == 1
        with self.strategy.scope():
            optimizer = FusedAdam(
                learning_rate,
                use_ema=averaging_steps > 0,
                ema_momentum=1.0 - 1.0 / max(2.0, averaging_steps),
            )
            network.compile(
                optimizer=optimizer,
                jit_compile=use_jit(self.settings.device.jit_compile),
                steps_per_execution=steps_per_call if single else 1,
            )
            # Variables created inside the first step would make TensorFlow trace it twice.
            network.optimizer.build(network.trainable_variables)

    def checkpoint_path(self, stage):
        if self.folder is None:
            return None
        (self.folder / stage).mkdir(exist_ok=True)
        return self.folder / stage / "checkpoint.npz"

    def has_checkpoint(self, stage):
        path = self.checkpoint_path(stage)
        return path is not None and path.exists()

    def callbacks(self, stage, whole):
        callbacks = [AveragedWeights()]
        if stage == "m2" and self.settings.m2.top_classes is not None:
            callbacks.append(TruncateLater(self.settings.m2.full_enumeration))
        if self.verbose:
            callbacks.append(ShowProgress(stage))
        if self.folder is None:
            return callbacks
        logs = self.folder / "tensorboard" / stage
        callbacks.append(keras.callbacks.TensorBoard(logs, write_graph=False))
        if self.experiment.source.image_shape is not None:
            preprocessing = self.experiment.preprocessing
            x = preprocessing(self.experiment.split.x_train[:NUM_PICTURES])
            callbacks.append(
                Pictures(lambda _: of_model.training_pictures(whole, x, preprocessing), logs)
            )
        return callbacks

    def write_latents(self, model, classifier):
        """Latents of some training points for TensorBoard's projector."""
        parts, preprocessing = self.experiment.split, self.experiment.preprocessing
        x = parts.x_train[:NUM_EMBEDDINGS]
        names = np.array(self.experiment.source.class_names)
        given = np.array(["-"] * len(x), dtype=object)
        given[: len(parts.label)] = names[parts.label][: len(x)]
        probabilities = class_probabilities(model, classifier, preprocessing, x)
        images = None
        if self.experiment.source.image_shape is not None:
            images = of_model.to_images(preprocessing(x), preprocessing)
        write_embeddings(
            self.folder / "tensorboard",
            self.apply(model.latents, x),
            {"predicted": names[probabilities.argmax(axis=1)], "given": given},
            images,
        )

    def apply(self, function, x, batch_size=1000):
        """A model's function over stored inputs, a batch at a time."""
        parts = [
            function(self.experiment.preprocessing(x[first : first + batch_size])).numpy()
            for first in range(0, max(len(x), 1), batch_size)  # of no rows, one empty batch
        ]
        return np.concatenate(parts)


def plan_epoch(num_examples, batch_size):
    """Steps of an epoch, and steps of one call into TensorFlow.

    An epoch must be whole calls, or Keras overruns it. So it covers the set once, and goes on into
    the next pass for the few steps that fill the last call.
    """
    steps = batches.steps_per_epoch(num_examples, batch_size)
    if steps <= MAX_STEPS_PER_CALL:
        return steps, steps
    # Of the longer calls, the one that fills up with the fewest steps.
    lengths = range(MAX_STEPS_PER_CALL, MAX_STEPS_PER_CALL // 2, -1)
    steps_per_call = min(lengths, key=lambda length: -steps % length)
    return steps + -steps % steps_per_call, steps_per_call


def largest_divisor(number, limit):
    """The largest divisor of `number` up to `limit`."""
    return max(d for d in range(1, min(number, limit) + 1) if number % d == 0)
