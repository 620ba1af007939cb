"""The points that a choice is made on, and what is computed of them once for all candidates."""

import numpy as np

from tfssl.blends.views import Views
from tfssl.choice.latents import train_m1
from tfssl.classifiers.spreading import neighbour_graph
from tfssl.data.batches import in_batches

BYTES = 4  # of a float32
# Unlabelled points that candidates use whose time or memory grows faster than their number.
FEW = 3000


class Pool:
    """Labelled points and unlabelled ones, the labelled first.

    Attributes:
      x: [N, D] float32, as preprocessing gives them.
      label: [N_l] integers; they belong to the first rows.
      num_classes: K.
      levels: grey levels above black if x are intensities of images, in [0, 1]; else None.
      seed: of whatever is random.
      views: `Views` of x.
    """

    def __init__(self, x_labelled, label, x_unlabelled, num_classes, levels=None, seed=0):
        self.x = np.concatenate([x_labelled, x_unlabelled]).astype(np.float32)
        self.label = np.asarray(label)
        self.num_classes = num_classes
        self.levels = levels
        self.seed = seed
        self.views = Views.fit(self.x, levels is not None)
        self._made = {}
        unlabelled = np.arange(len(label), len(self.x))
        chosen = np.random.default_rng(seed).permutation(unlabelled)[:FEW]
        self.few = np.sort(chosen)

    @classmethod
    def of(cls, experiment):
        """The training points of an `Experiment`.

        Of unlabelled ones that would take more memory than data.memory_limit_mb, as many as fit.
        """
        parts, preprocessing = experiment.split, experiment.preprocessing
        settings, unlabelled = experiment.settings, parts.x_unlabelled
        most = settings.data.memory_limit_mb * 2**20 // (BYTES * preprocessing.dim)
        if len(unlabelled) > most:
            rng = np.random.default_rng(settings.data.split_seed)
            unlabelled = unlabelled[np.sort(rng.permutation(len(unlabelled))[:most])]
        return cls(
            in_batches(preprocessing, parts.x_labelled),
            parts.label,
            in_batches(preprocessing, unlabelled),
            experiment.source.num_classes,
            None if preprocessing.components is not None else experiment.source.levels,
            settings.seed,
        )

    @property
    def num_labelled(self):
        """N_l."""
        return len(self.label)

    def view(self, name):
        """The view `name` of all points, [N, ...]."""

        def make():
            if name == "latents":
                self.views = self.views.with_m1(*train_m1(self.x, self.levels, self.seed))
            return self.views(name, self.x)

        return self.once(f"view {name}", make)

    def unlabelled(self, rows):
        """Which points a candidate that is fitted to the labels of `rows` sees without a label.

        Those whose labels are held out are among them, so that it sees what it would see.
        """
        hidden = np.setdiff1d(np.arange(self.num_labelled), rows)
        return np.concatenate([hidden, self.few]).astype(int)

    def once(self, name, make):
        """make(), the first time that something of this name is asked for."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def graph(self, view, metric):
        """The `Graph` of the labelled and the few unlabelled points in a view."""

        def make():
            rows = np.concatenate([np.arange(self.num_labelled), self.few])
            return neighbour_graph(self.view(view)[rows], metric=metric)

        return self.once(f"graph of {view} by {metric}", make)
