"""M2 as a candidate: one network, compiled once for all folds.

Its two bounds do not weigh as in the paper, where a few labels drown among many points: with 20
labels of 2,000 points, 1 % of the bound is labelled, and y drifts to whatever splits the points
best. Two weights are tried: half and half, and the labelled one ten times the other, which leaves
the classifier closer to its labels. p(y) is uniform: how common the classes are is reckoned for the
answer as a whole.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tfssl.choice.candidates import Candidate
from tfssl.data import batches
from tfssl.models import M2
from tfssl.models.noise import stream
from tfssl.models.optimizers import HoldThenDecay
from tfssl.training.fit import Place
from tfssl.training.refittable import Refittable
from tfssl.training.stage import MAX_STEPS_PER_CALL, Stage
from tfssl.training.strategy import make_strategy

HIDDEN, MOST_LATENTS = 100, 10
LABELLED_ROWS, ROWS = 20, 100
CALLS = 20
LEARNING_RATE, AVERAGING = 3e-3, 0.02
# More columns than this are seen by their components.
MOST_COLUMNS = 300


@dataclass(frozen=True, kw_only=True)
class Generative(Candidate):
    """M2 with a share of the labelled bound of its own.

    Attributes:
      labelled_share: rho of `objectives`: J = rho L + (1 - rho) U + ...
    """

    labelled_share: float
    uses_unlabelled: ClassVar[bool] = True

    def fit(self, pool, rows):
        name = f"{self.name} on {self.view}"
        network = pool.once(name, lambda: self._compiled(pool))
        stage = self._stage(pool, network.network, rows)
        whole = len(rows) == pool.num_labelled
        fitted = network.fit(stage)
        # The folds share one network: what is to stay must be a copy.
        return fitted.without_optimizer() if whole else fitted

    def _compiled(self, pool):
        x = pool.view(self.view)
        as_columns = self.view == "columns"
        with make_strategy("default").scope():
            m2 = M2(
                x.shape[1],
                pool.num_classes,
                pool.num_labelled,
                len(x) - pool.num_labelled,
                latent_dim=max(2, min(MOST_LATENTS, x.shape[1] // 2)),
                hidden_units=(HIDDEN,),
                likelihood="columns" if as_columns else "isotropic",
                binary_columns=tuple(pool.views.binary_columns) if as_columns else (),
                classification_weight=self.labelled_share,
                labelled_share=self.labelled_share,
                seed=pool.seed,
            )
        every = np.arange(pool.num_labelled)
        return Refittable(self._stage(pool, m2, every), Place(make_strategy("default")))

    def _stage(self, pool, m2, rows):
        x = pool.view(self.view)
        labelled = (x[rows], pool.label[rows])
        unlabelled = x[np.setdiff1d(np.arange(len(x)), rows)]

        def of(name, points):
            seed = stream(pool.seed, self.name, name)
            sizes = (LABELLED_ROWS, ROWS)
            return lambda start: batches.semi_supervised(
                labelled, points, pool.num_classes, sizes, seed, start_step=start
            )

        steps = CALLS * MAX_STEPS_PER_CALL
        chance = m2.chance_loss(x[:1000])
        return Stage(
            "m2",
            m2,
            of("joint", unlabelled if len(unlabelled) else None),
            steps,
            MAX_STEPS_PER_CALL,
            epochs=1,
            learning_rate=HoldThenDecay(LEARNING_RATE, steps, 0.5),
            chance=chance,
            averaging_steps=AVERAGING * steps,
        )


def _work(view):
    def work(pool):
        """Seconds of a fit: by the products of a step, and what it takes to begin one."""
        dim = min(pool.x.shape[1], MOST_COLUMNS if view == "columns" else 50)
        rows = ROWS * pool.num_classes + LABELLED_ROWS
        products = 6 * rows * HIDDEN * (dim + MOST_LATENTS) + 6 * ROWS * HIDDEN * dim
        return 0.5 + CALLS * MAX_STEPS_PER_CALL * (8e-4 + products / 3e10)

    return work


def generative_candidates(pool):
    """M2 on columns, or on components where there are too many; not of pixels, which M1 sees."""
    if pool.levels is not None:
        return ()
    view = "columns" if pool.x.shape[1] <= MOST_COLUMNS else "components"
    shared = {"view": view, "work": _work(view)}
    return (
        Generative(name="M2", labelled_share=1 / 2, **shared),
        Generative(name="M2, labels first", labelled_share=10 / 11, **shared),
    )
