"""Write the result tables of README and docs from the committed result files; --check compares.

Between the lines <!-- table: NAME --> and <!-- end --> stands the table of docs/results/NAME.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np

from tfssl import cells, reproduce, study

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"
BLOCK = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
PEERS = {
    "tf_tiled": "plain TF",
    "torch_tiled": "PyTorch",
    "torch_compiled": "torch.compile",
    "pyro": "Pyro",
}
STEPS = {
    "m2_100_1000": "M2, 100 + 1000",
    "m2_100_100": "M2, 100 + 100",
    "m2_20_100": "M2, 20 + 100",
    "m1_250": "M1, 250",
    "m2_on_z1": "M2 on z1, 100 + 100",
}
DEVICE_FILES = {
    "f32": "f32",
    "f16": "f16",
    "dynamic": "dynamic",
    "int8": "int8",
    "int8_8bit": "not exported: int8 with 8-bit activations",
    "weights_8bit": "Keras, its weights alone rounded to 8 bits",
}
ABUSE = {
    "bad_data": "data files",
    "bad_settings_file": "settings files",
    "bad_overrides": "lists of `--set`",
    "bad_words": "command lines",
    "bad_run": "run folders",
    "bad_export": "exports",
    "bad_inputs": "inputs to predict",
}
SIZES = {
    "num_classes": "classes",
    "latent_dim": "latent size",
    "hidden_units": "hidden units",
    "unlabelled": "unlabelled rows",
}


def fill(text):
    """`text` with every table made anew."""

    def block(match):
        table = TABLES.get(match[2], errors_table)(RESULTS / match[2])
        return f"{match[1]}{table}\n{match[3]}"

    return BLOCK.sub(block, text)


def markdown(header, rows):
    """A table whose first column is text and the others numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def read(path):
    return json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["result"]


def milliseconds(timing):
    """Median and quartiles."""
    median, low, high = (
        f"{1e3 * value:,.0f}" if value >= 0.1 else f"{1e3 * value:.3g}"
        for value in (timing["median"], *timing["quartiles"])
    )
    return f"{median} ({low} to {high})"


def errors_table(folder):
    """A study: mean test errors of the methods."""
    results = [cells.read_result(file) for file in sorted(folder.glob("*.json"))]
    return study.markdown(study.in_table_order(results))


def paper_table(path):
    """A table of the paper, ours beside theirs."""
    table = reproduce.TABLES[path.name]
    return markdown(*reproduce.rows(table, _reproduced(path)))


def paper_details(path):
    """Errors of the last epoch and of the epoch with the lowest validation error; times."""
    summary = reproduce.summarise(_reproduced(path))
    lines = [
        [
            reproduce.METHODS[method],
            str(labels),
            str(cell.splits),
            f"{cell.error:.2f}",
            "-" if cell.selected is None else f"{cell.selected:.2f}",
            f"{cell.seconds / 60:.1f}",
        ]
        for method in reproduce.METHODS
        for (name, labels), cell in sorted(summary.items())
        if name == method
    ]
    header = ["method", "labels", "splits", "last epoch, %", "selected epoch, %", "minutes"]
    return markdown(header, lines)


def _reproduced(path):
    """The results with the full budget of the table that `path` is named after."""
    table = reproduce.TABLES[path.name.removesuffix("_details")]
    results = [cells.read_result(file) for file in sorted(path.parent.glob(f"{table.data}_*.json"))]
    return [r for r in results if r["budget"] == "full" and r["method"] in table.published]


def shifts_table(path):
    """The rows of table 2 that rest on M1, with and without moved images."""
    table = reproduce.TABLES["table2"]
    moved, still = (
        reproduce.summarise(_reproduced(folder / "table2"))
        for folder in (path.parent, path.parent / "unshifted")
    )
    lines = [
        [reproduce.METHODS[method], str(moved[method, labels]), str(cell), f"{published[0]:.2f}"]
        for method, published in table.published.items()
        for (name, labels), cell in still.items()
        if name == method
    ]
    return markdown(["SVHN, 1000 labels", "moved images", "as they are", "paper"], lines)


def supervised_table(path):
    """M2 with every label, by q(y|x) and by Bayes' rule, with and without validation points."""
    rows = []
    for mode in ("", "no_validation_"):
        result = cells.read_result(path.parent / f"mnist_m2_all_{mode}full.json")
        found, labels = result["likelihood"], f"{result['labels']['training']:,}"
        bayes = f"Bayes' rule, {found['samples']} samples"
        rows.append(["q(y given x)", labels, *_interval(found["recognition"]), "-"])
        rows.append([bayes, labels, *_interval(found["bayes"]), "0.96"])
    header = ["M2 on MNIST, all labels", "labels", "test error %", "95% interval", "paper"]
    return markdown(header, rows)


def likelihood_table(path):
    """Log-likelihoods of test points, in nats."""
    names = {"mnist_m1_full": "M1", "mnist_m2_all_full": "M2, all labels"}
    rows = []
    for file, name in names.items():
        if (path.parent / f"{file}.json").exists():
            found = cells.read_result(path.parent / f"{file}.json")["likelihood"]
            estimate = f"{found['log_likelihood']:.2f} ± {found['log_likelihood_error']:.2f}"
            numbers = [str(found["points"]), str(found["samples"])]
            rows.append([name, f"{found['bound']:.2f}", estimate, *numbers])
    return markdown(["MNIST", "bound", "log p(x) ± s.e.", "test points", "samples"], rows)


def _interval(metrics):
    error, low, high = (100 * metrics[name] for name in ("error", "error_low", "error_high"))
    return f"{error:.2f}", f"{low:.2f} to {high:.2f}"


def steps_table(path):
    """Our step, what its matrix products would take, and how many times longer the peers take."""
    rows = []
    for case, found in read(path)["cases"].items():
        median = {name: timing["median"] for name, timing in found["seconds"].items()}
        rows.append(
            [
                STEPS[case],
                milliseconds(found["seconds"]["tfssl"]),
                f"{100 * found['share_of_gemm']['tfssl']:.0f} %",
                f"{100 * median['products'] / median['tfssl']:.0f} %",
                *(f"{median[peer] / median['tfssl']:.2f}" for peer in PEERS),
            ]
        )
    header = ["step", "tfssl, ms", "of the limit", "products alone", *PEERS.values()]
    return markdown(header, rows)


def bfloat16_table(path):
    """Our step with networks in bfloat16, and how many times longer the others take."""
    others = {"tfssl": "tfssl, float32", "torch_bfloat16": "PyTorch, bfloat16", "pyro": "Pyro"}
    rows = []
    for case, found in read(path.parent / "steps")["cases"].items():
        ours = found["seconds"]["tfssl_bfloat16"]
        ratios = (found["seconds"][name]["median"] / ours["median"] for name in others)
        rows.append([STEPS[case], milliseconds(ours), *(f"{ratio:.2f}" for ratio in ratios)])
    return markdown(["step", "tfssl, bfloat16, ms", *others.values()], rows)


def truncated_steps_table(path):
    """Steps with truncated enumeration, and how many times longer Pyro's full one takes."""
    rows = []
    for case, found in read(path.parent / "steps")["cases"].items():
        pyro = found["seconds"]["pyro"]["median"]
        tops = [found["seconds"][name] for name in ("tfssl", "tfssl_top_2", "tfssl_top_1")]
        if case.startswith("m2"):
            rows.append([STEPS[case], *(f"{pyro / timing['median']:.2f}" for timing in tops)])
    return markdown(["Pyro's step is longer than ours by", "all 10", "top 2", "top 1"], rows)


def fit_table(path):
    rows = [
        [
            STEPS[case],
            milliseconds(found["bare"]),
            milliseconds(found["fit"]),
            f"{100 * found['overhead']:+.0f} %",
        ]
        for case, found in read(path).items()
    ]
    return markdown(["step", "bare, ms", "in `fit`, ms", "overhead"], rows)


def prediction_table(path):
    rows = [
        [way, rows, milliseconds(timing), f"{timing['examples_per_second']:,.0f}"]
        for way, found in read(path).items()
        for rows, timing in found.items()
    ]
    return markdown(["classifier of M2", "batch", "ms a call", "images a second"], rows)


def growth_table(path):
    rows = []
    for row in read(path):
        value = row["value"][0] if isinstance(row["value"], list) else row["value"]
        kept = f", top {row['top_classes']}" if row["top_classes"] else ""
        rows.append([f"{SIZES[row['what']]} {value}{kept}", milliseconds(row)])
    return markdown(["100 + 100, but", "ms a step"], rows)


def memory_table(path):
    found = read(path)
    numbers = [found[name] for name in ("data_megabytes", "peak_megabytes", "growth_per_epoch")]
    epochs = len(found["after_each_epoch"])
    return markdown(
        ["epochs", "images, MB", "peak, MB", "growth, MB an epoch"],
        [[str(epochs), *(f"{number:.1f}" for number in numbers)]],
    )


def truncation_table(folder):
    """Test errors at the end of training, one per seed."""
    files = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))]
    names = {"mnist": "MNIST, 10 classes", "triples": "digit triples, 1000 classes"}
    rows = []
    for run, name in names.items():
        seeds = [file["rows"] for file in files if file["run"] == run]
        for same in zip(*seeds, strict=True):
            errors = [row["test_error"] for row in same]
            rows.append(
                [
                    f"{name}, {_what(same[0])}",
                    " ".join(f"{error:.1f}" for error in errors),
                    f"{np.mean(errors):.1f}",
                ]
            )
    return markdown(["run", "test error %, by seed", "mean"], rows)


def devices_table(path):
    """A classifier on devices: what each way of storing it costs."""
    found = read(path)
    rows = [["Keras", f"{100 * found['keras_error']:.2f}", *["-"] * 6]]
    for name, title in DEVICE_FILES.items():
        row = found["classifiers"][name]
        rows.append(
            [
                title,
                f"{100 * row['error']:.2f}",
                str(row["labels_changed"]),
                f"{row['changed_lead']:.2g}",
                f"{row['largest_difference']:.2g}",
                f"{row['mean_difference']:.2g}",
                f"{row['bytes'] / 1000:,.0f}" if "bytes" in row else "-",
                f"{1e6 * row['seconds']['median']:,.0f}" if "seconds" in row else "-",
            ]
        )
    measures = ["labels changed", "of a lead up to", "max dp", "mean dp", "kB", "us an image"]
    return markdown(["classifier", "test error %", *measures], rows)


def device_files_table(path):
    """The other functions on devices: size and mean difference to the Keras model."""
    files = read(path.with_name(path.name.removesuffix("_files")))["files"]
    rows: dict[str, dict[str, str]] = {}
    for about in files.values():
        if about["batch"] is None:
            cell = f"{about['bytes'] / 1000:,.0f} kB, {about['difference']['mean']:.0e}"
            rows.setdefault(about["function"], {})[about["quantisation"]] = cell
    header = list(next(iter(rows.values())))
    return markdown(["function", *header], [[name, *row.values()] for name, row in rows.items()])


def active_table(path):
    """Mean test error over the seeds, by how points to label were chosen."""
    seeds = [cells.read_result(file) for file in sorted(path.parent.glob(f"{path.name}_*.json"))]
    names = {"random": "random", "uncertainty": "highest entropy", "suggest": "`suggest`"}
    rows = []
    for strategy, name in names.items():
        errors = 100 * np.mean([seed["errors"][strategy] for seed in seeds], axis=0)
        rows.append([name, *(f"{error:.2f}" for error in errors)])
    return markdown(["labels", *map(str, seeds[0]["labels"])], rows)


def load_table(path):
    """The server under load."""
    rows = [
        [
            str(load["clients"]),
            str(load["batch"]),
            f"{load['requests_per_second']:,.0f}",
            f"{load['images_per_second']:,.0f}",
            f"{load['p50_ms']:.1f}",
            f"{load['p99_ms']:.1f}",
            str(load["errors"]),
        ]
        for load in read(path)["loads"]
    ]
    header = ["clients", "images a request", "requests a second", "images a second"]
    return markdown([*header, "p50, ms", "p99, ms", "errors"], rows)


def kills_table(path):
    """Processes that were killed, by what they did, and what was left in the end."""
    kinds = ("training", "checkpointing", "export", "reproduce")
    outcomes = ("count", "left_a_half_written_file", "whole_files_read", "same_outcome")
    rows = []
    for file in sorted(path.parent.glob(f"{path.name}*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        numbers = [found["by_kind"].get(kind, 0) for kind in kinds]
        rows.append([f"`{file.name}`", found["seed"], *numbers, *(found[key] for key in outcomes)])
    sums = [sum(column) for column in zip(*(row[2:] for row in rows), strict=True)]
    header = ["result file", "seed", "training", "while a checkpoint is written", "export"]
    header += ["reproduce", "kills", "half-written file left", "whole files", "same outcome"]
    return markdown(header, [[str(cell) for cell in row] for row in [*rows, ["all", "", *sums]]])


def abuse_table(path):
    """Bad input of every kind, and how the program ended."""
    found = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    rows = [[name, str(found["by_kind"][kind])] for kind, name in ABUSE.items()]
    rows += [
        [f"all, seed {found['seed']}", str(found["cases"])],
        ["refused, exit code 2", str(found["refused"])],
        ["accepted, exit code 0", str(found["accepted"])],
        ["tracebacks or files left", str(len(found["failures"]))],
    ]
    return markdown(["bad input", "cases"], rows)


def calibration_table(folder):
    """Calibration error and log-loss before and after, means over the seeds."""
    names = {"m1": "M1+TSVM, cross-fitted on {} labels", "m2": "M2, {} validation points"}
    rows = []
    for model, name in names.items():
        files = sorted(folder.glob(f"{model}_*.json"))
        seeds = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        before, after = (
            {key: np.mean([seed[when][key] for seed in seeds]) for key in seeds[0][when]}
            for when in ("before", "after")
        )
        temperatures = [seed["calibration"]["temperature"] for seed in seeds]
        rows.append(
            [
                name.format(seeds[0]["calibration"]["points"]),
                f"{min(temperatures):.2f} to {max(temperatures):.2f}",
                f"{100 * after['error']:.2f}",
                f"{before['calibration_error']:.3f} → {after['calibration_error']:.3f}",
                f"{before['log_loss']:.3f} → {after['log_loss']:.3f}",
            ]
        )
    return markdown(["digits, 50 labels", "T", "error %", "calibration error", "log-loss"], rows)


def _what(row):
    if row.get("part") == "first half":
        return "half way"
    return "all classes" if row["top_classes"] is None else f"top {row['top_classes']}"


TABLES = {
    "reproduce/table1": paper_table,
    "reproduce/table1_details": paper_details,
    "reproduce/table2": paper_table,
    "reproduce/table3": paper_table,
    "reproduce/shifts": shifts_table,
    "reproduce/supervised": supervised_table,
    "reproduce/likelihood": likelihood_table,
    "speed/steps": steps_table,
    "speed/bfloat16": bfloat16_table,
    "speed/truncated_steps": truncated_steps_table,
    "speed/fit": fit_table,
    "speed/prediction": prediction_table,
    "speed/growth": growth_table,
    "speed/memory": memory_table,
    "truncation": truncation_table,
    "serving/load": load_table,
    "faults/kills": kills_table,
    "faults/abuse": abuse_table,
    "calibration": calibration_table,
    "active/digits": active_table,
    "active/mnist": active_table,
    "devices/mnist_m1m2": devices_table,
    "devices/mnist_m1m2_files": device_files_table,
}

if __name__ == "__main__":
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        before = document.read_text(encoding="utf-8")
        after = fill(before)
        if "--check" not in sys.argv:
            document.write_text(after, encoding="utf-8")
        elif before != after:
            sys.exit(
                f"the tables of {document.relative_to(ROOT)} differ from docs/results: run python "
                "pipelines/readme_tables.py"
            )
