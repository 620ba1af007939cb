"""Does labelling what `tfssl suggest` names beat labelling at random?

Both start from the same few labels, ask for more in rounds, and are fitted anew after each: the
transductive SVM on M1's features. M1 sees no labels, so it is trained once per seed, or taken from
a run (--run), whose data are then used:

  python -m benchmarks.quality.active --seeds 5
  python -m benchmarks.quality.active --run runs/mnist_m1 --pool 5000 --name mnist

Errors are on test points, by which nothing is chosen. Seeds differ in split, first labels, M1 and
random choices. The verdict is a paired t-test over the seeds, of the mean error of all rounds.
"""

import argparse
from pathlib import Path

import numpy as np

from tfssl import classifiers
from tfssl.classifiers.temperature import scaled
from tfssl.data.batches import in_batches
from tfssl.data.experiment import Experiment
from tfssl.results import comparison, suggestions
from tfssl.runs import calibration
from tfssl.runs.metrics import entropy
from tfssl.runs.trained import TrainedRun
from tfssl.settings import dump_settings, load_settings, with_changes
from tfssl.settings.kinds import CLASSIFIERS
from tfssl.storage.files import write_json
from tfssl.training.fit import Place
from tfssl.training.reuse import reuse_m1
from tfssl.training.sequence import fit_m1
from tfssl.training.strategy import make_strategy

STRATEGIES = ("random", "uncertainty", "suggest")
FOLDS = 5


class Round:
    """The classifier after some labels: fitted to features [N, F], of which `rows` have `label`."""

    def __init__(self, features, rows, label, name, seed):
        self.features, self.rows, self.label = features, rows, label
        self.name, self.seed = name, seed
        self.unlabelled = np.setdiff1d(np.arange(len(features)), rows)
        self.classifier = self._fit(np.arange(len(rows)))

    def _fit(self, kept):
        return classifiers.fit_classifier(
            classifiers.make_classifier(self.name, self.seed),
            self.features[self.rows[kept]],
            self.label[kept],
            self.features[self.unlabelled],
        )

    def error(self, features, label):
        probabilities = classifiers.probabilities(self.classifier, features)
        return float(np.mean(probabilities.argmax(axis=1) != label))

    def uncertainty(self):
        """The entropy of the calibrated probabilities of the unlabelled points."""
        num_classes = int(self.label.max()) + 1
        folds = min(FOLDS, int(np.bincount(self.label).min()))

        def fit_and_predict(kept, held_out):
            own = self.features[self.rows[held_out]]
            return classifiers.probabilities(self._fit(kept), own)

        outputs = calibration.cross_fitted(
            fit_and_predict, self.label, num_classes, folds, self.seed
        )
        fitted = calibration.fit_temperature(outputs, self.label)
        raw = classifiers.probabilities(self.classifier, self.features[self.unlabelled])
        return entropy(scaled(raw, fitted))

    def choose(self, strategy, count, rng):
        """Rows of the points to label next."""
        if strategy == "random":
            return rng.choice(self.unlabelled, count, replace=False)
        uncertainty = self.uncertainty()
        if strategy == "uncertainty":
            return self.unlabelled[np.argsort(-uncertainty, kind="stable")[:count]]
        pool, known = self.features[self.unlabelled], self.features[self.rows]
        return self.unlabelled[suggestions.choose(pool, uncertainty, known, count, self.seed)[0]]


def learn(strategy, pool, label, start, test, options, seed):
    """Test error after every round, the first before any choice.

    Args:
      strategy: one of `STRATEGIES`.
      pool, label: [N, F] features of the training points, and [N] labels that are revealed if
        asked for.
      start: rows of the first labels.
      test: (features, label).
      options: the command's.
      seed: an integer.
    """
    rng = np.random.default_rng(seed)
    current = Round(pool, start, label[start], options.classifier, seed)
    errors = [current.error(*test)]
    for _ in range(options.rounds):
        rows = np.concatenate([current.rows, current.choose(strategy, options.batch, rng)])
        current = Round(pool, rows, label[rows], options.classifier, seed)
        errors.append(current.error(*test))
    return errors


def prepare(options, seed):
    """(what `learn` takes: features, labels, first rows, test points), settings, test overlap."""
    run = None if options.run is None else TrainedRun(options.run)
    settings = load_settings(None) if run is None else run.settings
    if run is None:
        settings = with_changes(settings, m1={"epochs": options.epochs})
    data = {"num_labelled": options.start, "split_seed": seed}
    settings = with_changes(settings, model="m1", seed=seed, data=data)
    experiment = Experiment.prepare(settings, preprocessing=run and run.preprocessing)
    place = Place(make_strategy("default"), verbose=False)
    m1 = fit_m1(experiment, place) if run is None else reuse_m1(run, experiment)
    parts, source = experiment.split, experiment.source
    rows = np.concatenate([parts.rows["labelled"], parts.rows["unlabelled"]])
    rows = rows[source.label[rows] >= 0][: options.pool]  # a label that is not there cannot be had
    features, test = (
        in_batches(lambda x: m1.latents(experiment.preprocessing(x)), x)
        for x in (source.x[rows], parts.x_test)
    )
    start = np.arange(len(parts.label))
    given = features, source.label[rows], start, (test, parts.label_test)
    return given, settings, experiment.test_overlap


def run_seed(options, seed):
    (features, label, start, test), settings, overlap = prepare(options, seed)
    errors = {
        strategy: learn(strategy, features, label, start, test, options, seed)
        for strategy in options.strategies
    }
    labels = [len(start) + options.batch * i for i in range(options.rounds + 1)]
    settings = dump_settings(with_changes(settings, m1={"run": None}))
    return {
        "seed": seed,
        "classifier": options.classifier,
        "labels": labels,
        "pool": len(features),
        "test_points": len(test[1]),
        "overlap": overlap,
        "errors": errors,
        "settings": settings,
    }


def verdict(results):
    """Lines of text: the table of mean errors, and the paired tests against random choice."""
    strategies, labels = list(results[0]["errors"]), results[0]["labels"]
    errors = {s: 100 * np.array([r["errors"][s] for r in results]) for s in strategies}
    lines = [f"{'labels':12}" + "".join(f"{count:8d}" for count in labels)]
    lines += [f"{s:12}" + "".join(f"{v:8.2f}" for v in errors[s].mean(axis=0)) for s in strategies]
    for strategy in strategies:
        if strategy == "random" or len(results) < 2:
            continue
        # The first column is the common start.
        random, chosen = (errors[s][:, 1:].mean(axis=1) for s in ("random", strategy))
        gain, half_width, p = comparison.paired_t(random, chosen, results[0]["overlap"])
        word = "beats" if gain > 0 else "loses to"
        if p > 0.05:
            word = "is not told apart from"
        lines.append(
            f"{strategy} {word} random choice: {gain:.2f} +- {half_width:.2f} points of error "
            f"less, mean over the rounds, {len(results)} seeds, p = {p:.2g}"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, help="a run whose M1 and data to use; digits if none")
    parser.add_argument("--name", default="digits", help="of the result files")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--start", type=int, default=20, help="first labels, balanced")
    parser.add_argument("--batch", type=int, default=10, help="labels per round")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=60, help="of M1 on the digits")
    parser.add_argument("--pool", type=int, help="training points to choose from; all if none")
    parser.add_argument("--classifier", choices=CLASSIFIERS, default="tsvm")
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=STRATEGIES)
    parser.add_argument("--output", type=Path, default=Path("docs/results/active"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    results = []
    for seed in range(options.seeds):
        results.append(run_seed(options, seed))
        write_json(options.output / f"{options.name}_{seed}.json", results[-1])
        last = {s: f"{100 * e[-1]:.2f}%" for s, e in results[-1]["errors"].items()}
        print(f"seed {seed}, {results[-1]['labels'][-1]} labels: {last}", flush=True)
    print("\n".join(verdict(results)))


if __name__ == "__main__":
    main()
