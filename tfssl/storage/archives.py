"""Archives of arrays and models, perhaps a stranger's, read as data: bounded, and without code.

.npz, .keras and .skops files are zip archives. What one declares to hold is checked before anything
is unpacked; Python's zipfile reads no more than is declared.
"""

import contextlib
import itertools
import json
import math
import os
import zipfile
from pathlib import Path, PurePosixPath

import numpy as np

from tfssl.errors import InputError, expect

MAX_MEMBERS = 10_000
# The parts that a network's settings may name.
PARTS = {"enumeration": ("tfssl>AllClasses", "tfssl>LikeliestClasses")}
PART_KEYS = {"module", "class_name", "registered_name", "config"}
BYTES_PER_WEIGHT = 4


@contextlib.contextmanager
def damaged(path):
    """What fails while `path` is read is the file's fault, whatever the reader raises."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"cannot read {path}: there is no such file.") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None
    except MemoryError:
        raise InputError(f"{path} does not fit into memory.") from None
    except Exception as error:  # readers of damaged files raise almost anything
        raise InputError(f"{path} is damaged: {_first_line(error)}.") from None


def _first_line(error):
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__


def memory():
    """Bytes of this machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_archive(path):
    """Fail unless a zip archive can be unpacked here: into memory, and inside a folder."""
    with damaged(path), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    declared = sum(member.file_size for member in members)
    expect(
        len(members) <= MAX_MEMBERS and declared <= memory() // 2,
        f"{path} must unpack to at most half of this machine's {memory() / 2**30:.0f} GiB",
        files=len(members),
        gigabytes=round(declared / 1e9, 1),
    )
    for name in (member.filename for member in members):
        parts = PurePosixPath(name.replace("\\", "/"))
        expect(
            not parts.is_absolute() and ".." not in parts.parts and "\0" not in name,
            f"{path} must hold no file outside of it",
            name=name,
        )


def read_arrays(path):
    """{name: array} of an .npz file; objects, which would be pickled, are refused."""
    check_archive(path)
    found = {}
    with damaged(path), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                array = _read_array(file, member.file_size)
            found[member.filename.removesuffix(".npy")] = array
    return found


def read_array(path):
    """The array of an .npy file."""
    with damaged(path), open(path, "rb") as file:
        return _read_array(file, Path(path).stat().st_size)


def _read_array(file, size):
    """An array of a stream of `size` bytes: its header could claim any."""
    version = np.lib.format.read_magic(file)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, _, dtype = read_header(file)
    if dtype.hasobject:
        raise ValueError(f"arrays must not hold Python objects ({dtype})")
    claimed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or file.tell() + claimed != size:
        raise ValueError(f"an array must be as long as its header says ({shape} in {size} bytes)")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def check_model(path, models):
    """Fail unless a .keras file describes one of our models and nothing else.

    Keras would build whatever class the file names. A network cannot be larger than the file of its
    weights either, or a few bytes of settings would take all memory.

    Args:
      path: the file.
      models: the names that its model may be registered under.
    """
    check_archive(path)
    with damaged(path), zipfile.ZipFile(path) as archive:
        root = json.loads(archive.read("config.json"))
        weights = archive.getinfo("model.weights.h5").file_size
        expect(
            root["registered_name"] in models,
            f"{path} must hold one of {', '.join(models)}",
            found=root["registered_name"],
        )
        config = root["config"]
        for network in (config, *(config[name] for name in ("m1", "m2") if name in config)):
            _check_network(path, network, weights)


def _check_network(path, config, weights):
    for name, value in config.items():
        if name in ("m1", "m2"):
            continue
        if name in PARTS:
            value = _part_settings(path, value, PARTS[name])
        policy = name == "dtype" and value["class_name"] == "DTypePolicy"
        values = value if isinstance(value, list) else [value]
        plain = all(v is None or isinstance(v, bool | int | float | str) for v in values)
        expect(policy or plain, f"{path} must hold plain settings", name=name)
    if "hidden_units" not in config:
        return
    expect(
        config.get("posterior_scale") != "x" or "enumeration" in config,
        f'{path} must not be a model with posterior_scale = "x" of an earlier version',
        hint="Its networks are stored in another order: train it again.",
    )
    sizes = [config["input_dim"], *config["hidden_units"], config["latent_dim"]]
    expect(
        all(isinstance(size, int) and size > 0 for size in sizes),
        f"{path} must hold networks of whole sizes",
        sizes=sizes,
    )
    least = BYTES_PER_WEIGHT * sum(a * b for a, b in itertools.pairwise(sizes))
    expect(least <= weights, f"{path} must hold the weights of its networks", sizes=sizes)


def _part_settings(path, part, known):
    """The values among the settings of a part that Keras will build: one of the `known`."""
    name, keys = part["registered_name"], set(part)
    expect(
        name in known and name.endswith(f">{part['class_name']}") and keys <= PART_KEYS,
        f"{path} must hold one of {', '.join(known)}",
        found=name,
    )
    return list(part["config"].values())
