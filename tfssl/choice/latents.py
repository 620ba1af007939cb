"""The latents of M1 as one more view, the same for all candidates and folds: M1 sees no label."""

import numpy as np

from tfssl.data import batches
from tfssl.data.batches import in_batches
from tfssl.models import M1, active_dimensions
from tfssl.models.noise import stream
from tfssl.models.optimizers import HoldThenDecay
from tfssl.training.fit import Place, fit
from tfssl.training.stage import MAX_STEPS_PER_CALL, Stage
from tfssl.training.strategy import make_strategy

LATENT_DIM, HIDDEN_UNITS, BATCH_SIZE, LEARNING_RATE = 50, (300,), 100, 1e-3
CALLS = 48
# Of the training: in which the KL term's weight rises, and over which the weights are averaged.
WARM_UP, AVERAGING = 0.2, 0.02


def train_m1(x, seed):
    """M1 of intensities x [N, D] in [0, 1], and which of its latents are in use: (M1, [L])."""
    strategy = make_strategy("auto")
    steps = CALLS * MAX_STEPS_PER_CALL
    with strategy.scope():
        m1 = M1(x.shape[1], LATENT_DIM, HIDDEN_UNITS, "bernoulli", seed=seed)
    stage = Stage(
        "m1",
        m1,
        lambda start: batches.unlabelled(x, BATCH_SIZE, stream(seed, "m1"), start_step=start),
        steps,
        MAX_STEPS_PER_CALL,
        epochs=1,
        learning_rate=HoldThenDecay(LEARNING_RATE, steps, 0.5),
        averaging_steps=AVERAGING * steps,
        chance=m1.chance_loss(x[:1000]),
        compile_options={"kl_warmup_steps": WARM_UP * steps},
    )
    fit(stage, Place(strategy, verbose=False))
    m1 = m1.without_optimizer()
    return m1, active_dimensions(latents_of(m1, x), 0.1)


def latents_of(m1, x):
    """E[z|x], [N, L]."""
    return in_batches(m1.latents, np.asarray(x, np.float32))
