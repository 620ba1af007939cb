"""Our results beside the paper's: tables 1 to 3, all labels, log-likelihoods."""

from benchmarks.tables.layout import markdown
from tfssl.paper import reproduction, tables
from tfssl.paper.jobs import read_result


def paper_table(path):
    """A table of the paper, ours beside theirs."""
    table = _table(path)
    return markdown(*tables.rows(table, _reproduced(path)))


def minutes_table(path):
    """How long a split took, without the shared M1."""
    return _by_labels(path, lambda cell: f"{cell.seconds / 60:.1f}")


def selected_table(path):
    """Mean test errors of the epochs with the lowest validation error, of what has epochs."""
    return _by_labels(path, lambda cell: cell.selected and f"{cell.selected:.2f}")


def _by_labels(path, show):
    """A row a method and a column a number of labels, of what `show` makes of a `Summary`."""
    table, summary = _table(path), tables.summarise(_reproduced(path))
    lines = []
    for method in table.published:
        found = (summary.get((method, labels)) for labels in table.labels)
        line = ["-" if cell is None else show(cell) for cell in found]
        if all(line):
            lines.append([tables.METHODS[method], *line])
    return markdown(["method", *(f"{labels} labels" for labels in table.labels)], lines)


def _table(path):
    """The table of the paper that `path` is named after: "table1", "table1_minutes", ..."""
    return tables.TABLES[path.name.partition("_")[0]]


def _reproduced(path):
    """The results of a table with the full budget and validation points held out."""
    table = _table(path)
    results = [read_result(file) for file in sorted(path.parent.glob(f"{table.data}_*.json"))]
    results = [result for result in results if _belongs(result, table)]
    m1 = path.parent / f"{table.data}_m1_full.json"
    if m1.exists():
        reproduction.check_m1(results, read_result(m1))
    return results


def _belongs(result, table):
    return (
        result["method"] in table.published
        and result["budget"] == "full"
        and result["settings"]["data"]["num_validation"] > 0
    )


def shifts_table(path):
    """The rows of table 2 that rest on M1, with and without moved images."""
    table = tables.TABLES["table2"]
    moved, still = (
        tables.summarise(_reproduced(folder / "table2"))
        for folder in (path.parent, path.parent / "unshifted")
    )
    lines = [
        [tables.METHODS[method], str(moved[method, labels]), str(cell), f"{published[0]:.2f}"]
        for method, published in table.published.items()
        for (name, labels), cell in still.items()
        if name == method
    ]
    return markdown(["SVHN, 1000 labels", "moved images", "as they are", "paper"], lines)


def supervised_table(path):
    """M2 with every label, by q(y|x) and by Bayes' rule, with and without validation points."""
    rows = []
    for mode in ("", "no_validation_"):
        result = read_result(path.parent / f"mnist_m2_all_{mode}full.json")
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
            found = read_result(path.parent / f"{file}.json")["likelihood"]
            estimate = f"{found['log_likelihood']:.2f} ± {found['log_likelihood_error']:.2f}"
            numbers = [str(found["points"]), str(found["samples"])]
            rows.append([name, f"{found['bound']:.2f}", estimate, *numbers])
    return markdown(["MNIST", "bound", "log p(x) ± s.e.", "test points", "samples"], rows)


def _interval(metrics):
    error, low, high = (100 * metrics[name] for name in ("error", "error_low", "error_high"))
    return f"{error:.2f}", f"{low:.2f} to {high:.2f}"
