"""Our results beside the paper's: tables 1 to 3, all labels, log-likelihoods."""

from benchmarks.tables.layout import markdown
from tfssl import cells, paper


def paper_table(path):
    """A table of the paper, ours beside theirs."""
    table = paper.TABLES[path.name]
    return markdown(*paper.rows(table, _reproduced(path)))


def paper_details(path):
    """Errors of the last epoch and of the epoch with the lowest validation error; times."""
    summary = paper.summarise(_reproduced(path))
    lines = [
        [
            paper.METHODS[method],
            str(labels),
            str(cell.splits),
            f"{cell.error:.2f}",
            "-" if cell.selected is None else f"{cell.selected:.2f}",
            f"{cell.seconds / 60:.1f}",
        ]
        for method in paper.METHODS
        for (name, labels), cell in sorted(summary.items())
        if name == method
    ]
    header = ["method", "labels", "splits", "last epoch, %", "selected epoch, %", "minutes"]
    return markdown(header, lines)


def _reproduced(path):
    """The results with the full budget of the table that `path` is named after."""
    table = paper.TABLES[path.name.removesuffix("_details")]
    results = [cells.read_result(file) for file in sorted(path.parent.glob(f"{table.data}_*.json"))]
    return [r for r in results if r["budget"] == "full" and r["method"] in table.published]


def shifts_table(path):
    """The rows of table 2 that rest on M1, with and without moved images."""
    table = paper.TABLES["table2"]
    moved, still = (
        paper.summarise(_reproduced(folder / "table2"))
        for folder in (path.parent, path.parent / "unshifted")
    )
    lines = [
        [paper.METHODS[method], str(moved[method, labels]), str(cell), f"{published[0]:.2f}"]
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
