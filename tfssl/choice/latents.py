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


# From this many grey levels on, an intensity is taken for the probability that a pixel is on; fewer
# are counted.
MANY_LEVELS = 64


def train_m1(x, levels, seed):
    """(M1, which of its latents are in use, [L]).

    Args:
      x: [N, D] intensities in [0, 1].
      levels: grey levels above black.
      seed: of the weights, the noise and the order.
    """
    likelihood = "binomial" if 1 < levels < MANY_LEVELS else "bernoulli"
    strategy = make_strategy("auto")
    steps = CALLS * MAX_STEPS_PER_CALL
    with strategy.scope():
        m1 = M1(x.shape[1], LATENT_DIM, HIDDEN_UNITS, likelihood, levels, seed=seed)
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
