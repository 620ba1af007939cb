"""Bad commands, settings, arrays and run folders, made at random for `benchmarks.robustness.abuse`.

Each function makes the arguments of one case. Its arguments are `rng`, a `random.Random`; `place`,
an empty folder for its files, where a command may write to `place/out`; and `run`, a good run.
"""

import io
import json
import shutil
import zipfile

import numpy as np
import typer

from tfssl import cli
from tfssl.settings import Settings, dump_settings

# The last thing that is checked before training starts: with it no case ever trains.
REFUSED_AT_LAST = "m2.top_classes=999999"

SECTIONS = {None: dump_settings(Settings()), **dump_settings(Settings())}
KEYS = [
    key if section is None else f"{section}.{key}"
    for section, values in SECTIONS.items()
    if section is None or isinstance(values, dict)
    for key in values
]
VALUES = [
    *("", "0", "-1", "1", "2", "0.5", "1e400", "-inf", "nan", "true", "false", "[]", "[[]]"),
    *("[1, 2]", "[0]", "[-5]", "{}", "{a = 1}", '""', '"x"', "'", '"', "m1", "m2", "m1m2", "null"),
    *(
        "2020-01-01",
        "2020-01-01T00:00:00Z",
        "07:32:00",
        "0x10",
        "0b1",
        "1_000",
        "99999999999999999",
    ),
    *(
        "9" * 400,
        "1e30",
        "1e-320",
        "gaussian",
        "binomial",
        "all",
        "auto",
        "tpu",
        "mirrored",
        "None",
    ),
    *(
        "[" * 5000,
        "é",
        "\x00",
        "\ud800",
        "\N{SNOWMAN}",
        "a=b=c",
        "../..",
        "/",
        ".",
        "digits",
        "x.npz",
    ),
]
JUNK: list = [None, -1, 0, 1e308, 2**70, "", "x", [], [[1]], {}, {"a": {}}, True, float("nan")]
TOKENS = [
    *(
        "",
        "-",
        "--",
        "-x",
        "--help=1",
        "--run",
        "--set",
        "--to",
        "-1",
        "0",
        "nowhere",
        "./nowhere.npz",
    ),
    *(
        "nowhere.toml",
        "/dev/null",
        "/proc/self/mem",
        "é",
        "\N{SNOWMAN}",
        "a" * 300,
        "a/b/c",
        "~",
        "*",
    ),
    *(
        "--output",
        "--splits",
        "--jobs",
        "--labels",
        "1,2",
        "x,y",
        "--indices",
        "--name",
        "../x",
        ".",
    ),
    *(
        "--resume",
        "--seed",
        "99999999999999999999",
        "nan",
        "[",
        "--budget",
        "quick",
        "table1",
        "{}",
    ),
]


def commands():
    """The names of all commands, whichever there are."""
    return list(typer.main.get_group(cli.app).commands)


def bad_words(rng, place, _):
    """Any command with words that mean nothing to it; the first is never a good argument."""
    words = ["nowhere", *(rng.choice(TOKENS) for _ in range(rng.randrange(4)))]
    return [rng.choice([*commands(), rng.choice(TOKENS)]), *words]


def bad_overrides(rng, place, _):
    """train with settings, good and bad ones, that are refused at the latest before it starts."""
    chosen = [f"{rng.choice(KEYS)}={rng.choice(VALUES)}" for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.3:
        key = rng.choice(KEYS)
        place_in_it = rng.randrange(len(key))
        chosen.append(f"{key[:place_in_it]}{rng.choice('xé. =')}{key[place_in_it + 1 :]}=1")
    words = [f"--set={c}" for c in (*chosen, REFUSED_AT_LAST)]
    return ["train", "--run-dir", place / "out" / "run", *words]


def bad_settings_file(rng, place, _):
    """A settings file with something wrong in it, or in its bytes."""
    values = dump_settings(Settings())
    for _ in range(rng.randrange(1, 4)):
        section = rng.choice([values, *(v for v in values.values() if isinstance(v, dict))])
        key = rng.choice([*section, "unknown", ""])
        section[key] = rng.choice(JUNK)
    values.setdefault("m2", {})
    if isinstance(values["m2"], dict):
        values["m2"]["top_classes"] = 999999
    content = json.dumps(values).encode()
    name = rng.choice(["a.json", "a.json", "a.toml", "a.yaml", "a"])
    if name == "a.toml":
        lines = (f"{rng.choice(KEYS)} = {rng.choice(VALUES)}" for _ in range(rng.randrange(5)))
        content = "\n".join([*lines, REFUSED_AT_LAST]).encode("utf-8", "surrogatepass")
    if rng.random() < 0.5:
        content = mutated(rng, content)
    (place / name).write_bytes(content)
    guard = f"--set={REFUSED_AT_LAST}"  # a changed byte may have undone the file's own
    return ["train", place / name, "--run-dir", place / "out" / "run", guard]


def bad_data(rng, place, _):
    """Training data of wrong shapes, types, numbers and labels, or a file of changed bytes."""
    path = place / rng.choice(["own.npz", "own.npz", "own.npz", "own.npy", "own"])
    arrays = {rng.choice(["x", "x", "x_train", "z"]): any_array(rng)}
    arrays |= {rng.choice(["y", "y", "y_train", "z"]): any_array(rng)}
    if rng.random() < 0.5:  # a good x and a good y, so that the rest is looked at too
        numbers = np.random.default_rng(rng.randrange(10**6))
        arrays = {"x": numbers.normal(size=(60, 3)), "y": np.arange(60) % rng.choice([1, 2, 3, 60])}
    if rng.random() < 0.4:
        arrays |= {rng.choice(["x_test", "y_test", "class_names", "x"]): any_array(rng)}
    write_npz(path, arrays)
    if rng.random() < 0.3:
        path.write_bytes(mutated(rng, path.read_bytes()))
    likelihood = rng.choice(["gaussian", "bernoulli", "binomial", "isotropic"])
    sizes = [
        f"data.num_labelled={rng.choice([1, 3, 10, 1000])}",
        f"data.num_test={rng.choice([0, 5])}",
    ]
    words = [f"data.name={json.dumps(str(path))}", f"likelihood={likelihood}", *sizes]
    words += rng.choice([[], ["data.whitening=2"], ["data.whitening=0.9"], ["data.downsample=2"]])
    sets = [f"--set={word}" for word in (*words, REFUSED_AT_LAST)]
    return ["train", "--run-dir", place / "out" / "run", *sets]


def bad_inputs(rng, place, run):
    """predict with any array, or a file of changed bytes."""
    path = place / rng.choice(["new.npz", "new.npy", "new.npy", "new.csv"])
    array = any_array(rng)
    if rng.random() < 0.2:
        array = np.random.default_rng(0).integers(0, 17, (3, 8, 8))
    if path.suffix == ".npy":
        with open(path, "wb") as file:
            np.lib.format.write_array(file, array)
    else:
        write_npz(path, {rng.choice(["x", "x", "x", "y"]): array})
    if rng.random() < 0.4:
        path.write_bytes(mutated(rng, path.read_bytes()))
    output = place / "out" / rng.choice(["p.csv", "p.csv", "none/p.csv", "."])
    return ["predict", run, path, "--output", output]


def bad_run(rng, place, run):
    """A run folder in which a file is missing, changed, or another's."""
    copy = shutil.copytree(run, place / "run", ignore=shutil.ignore_patterns("tensorboard", "m1"))
    files = sorted(p for p in copy.iterdir() if p.is_file())
    path = rng.choice(files)
    deed = rng.random()
    if deed < 0.2:
        path.unlink()
    elif deed < 0.4:
        path.write_bytes(rng.choice(files).read_bytes())
    elif deed < 0.6 and path.suffix == ".json":
        value = json.loads(path.read_text())
        key = rng.choice(sorted(value))
        value[key] = rng.choice([None, [], {}, -1, "x", 1e999, [[]], True])
        path.write_text(json.dumps(value))
    else:
        path.write_bytes(mutated(rng, path.read_bytes()))
    np.save(place / "x.npy", np.zeros((2, 8, 8)))
    return rng.choice(
        [
            ["predict", copy, place / "x.npy", "--output", place / "out" / "p.csv"],
            ["evaluate", copy],
            ["likelihood", copy, "--samples", 1, "--points", 2, "--part", "validation"],
            ["export", copy, "--to", place / "out", "--name", "../x"],
            ["figures", copy, "--to", place / "out", "--indices", "99999"],
            ["demo", "--run", copy, "--litert", place / "none", "--port", "0"],
        ]
    )


def bad_export(rng, place, _):
    """Folders that are no exported model, and files that are none for devices."""
    folder = place / "models" / "m"
    (folder / "1").mkdir(parents=True)
    for name in ("1/saved_model.pb", "cards/1/card.json", "cards/1/reference.npz", "a.tflite"):
        if rng.random() < 0.7:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(mutated(rng, b'{"files": {"a.tflite": {}}}'))
    if rng.random() < 0.5:
        known = {"files": {"a.tflite": rng.choice([{}, [], {"function": "classify"}])}}
        (folder / "metadata.json").write_text(json.dumps(known))
    np.save(place / "x.npy", np.zeros((2, 8, 8)))
    return rng.choice(
        [
            ["check-export", folder],
            ["check-export", folder / "1"],
            ["serve-config", rng.choice(["none", "../m", "m m"]), "--to", place / "out"],
            ["serve", rng.choice(["none", "../m"]), "--from", place / "models", "--port", "0"],
            ["classify-on-device", folder / "a.tflite", place / "x.npy"],
            ["classify-on-device", place / "x.npy", folder / "a.tflite"],
        ]
    )


# How often each; those that load a model take longest.
KINDS = {
    bad_words: 4,
    bad_overrides: 8,
    bad_settings_file: 8,
    bad_data: 8,
    bad_inputs: 2,
    bad_run: 3,
    bad_export: 2,
}


def any_array(rng):
    """An array of some shape and type, with some numbers in it."""
    shape = rng.choice(
        [(), (0,), (5,), (5, 3), (5, 0), (60, 3), (5, 8, 8), (60, 8, 8), (2, 2, 2, 2)]
    )
    kind = rng.choice(
        ["f8", "f4", "f2", "i8", "i4", "u1", "u8", "?", "U3", "S2", "c8", "M8[s]", "O"]
    )
    numbers = np.random.default_rng(rng.randrange(10**6)).integers(-2, 20, shape)
    if kind == "O":
        return np.full(shape, None, object)
    array = np.asarray(numbers.astype(kind))
    if array.dtype.kind == "f" and array.size and rng.random() < 0.4:
        array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -np.inf, 6e4])
    return array


def write_npz(path, arrays):
    """As NumPy does, but to any name."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            stream = io.BytesIO()
            np.lib.format.write_array(stream, array)
            archive.writestr(f"{name}.npy", stream.getvalue())


def mutated(rng, content):
    """Bytes that are cut off, repeated, changed in places, or replaced."""
    deed = rng.randrange(5)
    if deed == 0:
        return content[: rng.randrange(len(content) + 1)]
    if deed == 1:
        return content + content[rng.randrange(len(content) + 1) :]
    if deed == 2:
        return rng.choice(
            [b"", b"\0" * 100, b"\xff\xfe", b"PK\x03\x04", b"[" * 100_000, b"\x93NUMPY"]
        )
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 3, 30])):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)
