"""Exported models: on devices and behind a server."""

from benchmarks.tables.layout import markdown, read

DEVICE_FILES = {
    "f32": "f32",
    "f16": "f16",
    "dynamic": "dynamic",
    "int8": "int8",
    "int8_8bit": "not exported: int8 with 8-bit activations",
    "weights_8bit": "Keras, its weights alone rounded to 8 bits",
}


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
