"""Runs on a table: what its training rows decided is kept with the run, and with its M1."""

import numpy as np

from tfssl.runs.opened import experiment_of
from tfssl.settings import load_settings
from tfssl.training.run import train

SMALL = (
    "m1.epochs=2",
    "m2.epochs=2",
    "m1.latent_dim=2",
    "m2.latent_dim=2",
    "m2.supervised_steps=2",
)


def test_a_run_and_who_takes_its_m1_read_the_table_as_its_training_rows_had_it(tmp_path, rng):
    table = tmp_path / "t.csv"
    ages = [f"{age:.3f}" if i % 4 else "" for i, age in enumerate(rng.normal(size=120))]
    rows = [f"{ages[i]},{rng.choice(['red', 'blue'])},{'ab'[i % 2]}" for i in range(120)]
    table.write_text("\n".join(["age,colour,label", *rows]) + "\n")
    data = ["num_labelled=10", "num_validation=20", "num_test=20", "validation_seed=0"]
    overrides = [*SMALL, 'likelihood="gaussian"', f'data.name="{table}"']
    overrides += [f"data.{setting}" for setting in data]
    first = train(load_settings(None, [*overrides, 'model="m1"']), tmp_path / "m1")
    experiment = experiment_of(first)
    schema = first.folder.schema()
    x = experiment.split.x_train
    given = x[x[:, 1] == 0, 0]  # where "age missing" is 0
    assert schema["columns"][0]["mean"] == np.float64(given.mean())
    again = ['model="m1m2"', f'm1.run="{first.folder.path}"', "data.split_seed=1"]
    second = train(load_settings(None, [*overrides, *again]), tmp_path / "m1m2")
    assert second.folder.schema() == schema
    np.testing.assert_array_equal(experiment_of(second).source.x, experiment.source.x)
