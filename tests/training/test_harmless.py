"""Unlabelled points must do no harm: M2 with them is as good as M2 on its labels alone.

A table of one-hot columns, most of which say nothing of the class, and rare values that a free bit
explains better than the class does: with the paper's weights y becomes that bit.
"""

import numpy as np
import pytest

from tfssl.data.batches import in_batches
from tfssl.data.experiment import Experiment
from tfssl.data.recommended import nested, recommend
from tfssl.data.source import NO_LABEL, Source
from tfssl.settings import merged, parse_settings
from tfssl.training import build
from tfssl.training.fit import Place
from tfssl.training.refittable import Refittable
from tfssl.training.strategy import make_strategy

ROWS, COLUMNS, CATEGORIES, TELLING, PER_CLASS = 1500, 12, 8, 4, 10
STEPS, SEEDS = 500, range(5)
STRATEGY = make_strategy("default")


def table(share, seed):
    """(`Source` with 10 labels a class, all labels); `share` is that of the first class.

    Categories are as common as 1, 1/2, ... 1/8, in the telling columns the other way round for the
    second class.
    """
    rng = np.random.default_rng(seed)
    label = (rng.random(ROWS) > share).astype(int)
    common = 1 / np.arange(1, CATEGORIES + 1)
    blocks = []
    for column in range(COLUMNS):
        category = rng.choice(CATEGORIES, ROWS, p=common / common.sum())
        if column < TELLING:
            category = np.where(label == 1, CATEGORIES - 1 - category, category)
        blocks.append(np.eye(CATEGORIES)[rng.permutation(CATEGORIES)[category]])
    given = np.full(ROWS, NO_LABEL)
    for k in (0, 1):
        rows = rng.permutation(np.flatnonzero(label == k))[:PER_CLASS]
        given[rows] = k
    x = np.concatenate(blocks, axis=1)
    return Source("table", x, given, x[:0], given[:0], ("a", "b"), None), label


def experiment_on(source, changes):
    suited = nested(recommend(source)) | {"model": "m2"}
    return Experiment.prepare(parse_settings(merged(suited, changes)), source)


def errors(share, changes):
    """Errors on the unlabelled points over the seeds, in percent, from one compiled network."""
    found, refittable = [], None
    for seed in SEEDS:
        source, label = table(share, seed)
        experiment = experiment_on(source, changes)
        network = None if refittable is None else refittable.network
        stage = build.m2_stage(experiment, STRATEGY, network)
        refittable = refittable or Refittable(stage, Place(STRATEGY, verbose=False))
        network = refittable.fit(stage, STEPS)
        hidden = source.label == NO_LABEL
        x = source.x[hidden]
        q_y = in_batches(lambda x: network(experiment.preprocessing(x)), x)  # noqa: B023
        found.append(100 * np.mean(q_y.argmax(axis=1) != label[hidden]))
    return np.array(found)


@pytest.mark.parametrize("share", [0.5, 0.76])
def test_unlabelled_points_do_no_harm(share):
    with_them, alone = (errors(share, c) for c in ({}, {"m2": {"labelled_share": 1.0}}))
    assert alone.mean() < 40  # the labels do say something
    assert with_them.mean() <= alone.mean() + 2, (with_them, alone)
