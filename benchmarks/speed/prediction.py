"""Latency and throughput of M2's classifier (784-500-10): Keras' predict and a SavedModel."""

import tempfile
import time

import keras
import numpy as np
import tensorflow as tf

from benchmarks.speed.turns import summary
from tfssl.models import M2

BATCHES = {1: 200, 100: 100, 10_000: 5}  # rows: calls in a round


def measure(rounds, tiny):
    """{way: {rows: seconds per call and examples per second}}, the ways taking turns."""
    model = M2(784, 10, 100, 49_900, seed=0)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        archive = keras.export.ExportArchive()
        archive.track(model)
        archive.add_endpoint("classify", model.call, [tf.TensorSpec([None, 784], tf.float32)])
        archive.write_out(folder, verbose=False)
        served = tf.saved_model.load(folder)
        ways = {
            "Keras predict": lambda x: model.predict(x, batch_size=1000, verbose=0),
            "SavedModel function": lambda x: served.classify(x).numpy(),
        }
        results: dict[str, dict] = {way: {} for way in ways}
        for rows, calls in BATCHES.items():
            x = rng.uniform(size=(rows, 784)).astype(np.float32)
            by_keras, by_server = (way(x) for way in ways.values())
            np.testing.assert_allclose(by_keras, by_server, atol=1e-5)
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(rounds):
                for way, predict in ways.items():
                    seconds[way].append(_seconds_per_call(predict, x, 1 if tiny else calls))
            for way, values in seconds.items():
                timing = summary(values)
                rate = rows / timing["median"]
                results[way][str(rows)] = {**timing, "examples_per_second": rate}
    return results


def _seconds_per_call(predict, x, calls):
    started = time.perf_counter()
    for _ in range(calls):
        predict(x)
    return (time.perf_counter() - started) / calls
