"""How long steps, training and predictions take, and what truncation changes."""

import json

import numpy as np

from benchmarks.tables.layout import markdown, milliseconds, read

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
SIZES = {
    "num_classes": "classes",
    "latent_dim": "latent size",
    "hidden_units": "hidden units",
    "unlabelled": "unlabelled rows",
}


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


def startup_table(path):
    """Seconds until a first model is fitted, before and after, and what is loaded for it."""
    before, after = (read(path)[name] for name in ("before", "after"))
    wholes = {"import": "import", "first fit": "first fit", "help": "`tfssl --help`"}
    rows = [
        [f"**{title}**", *(f"{found['whole'][name]:.2f}" for found in (before, after)), "", ""]
        for name, title in wholes.items()
    ]
    slowest = sorted(before["packages"].items(), key=lambda item: -item[1]["seconds"])
    for name, _ in slowest:
        seconds, modules = (
            [found["packages"].get(name, {}).get(key, 0) for found in (before, after)]
            for key in ("seconds", "modules")
        )
        rows.append([name, *(f"{value:.2f}" for value in seconds), *map(str, modules)])
    counts = [str(found["whole"]["modules"]) for found in (before, after)]
    rows.append(["all modules", "", "", *counts])
    header = ["", "before, s", "after, s", "modules before", "after"]
    return markdown(header, rows)


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


def _what(row):
    if row.get("part") == "first half":
        return "half way"
    return "all classes" if row["top_classes"] is None else f"top {row['top_classes']}"
