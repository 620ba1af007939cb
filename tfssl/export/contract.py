"""What an exported version takes and gives: contract.json, which the server checks requests by.

  {"format": 1, "classes": [...], "signatures": {"classify": {"inputs": {...}, "outputs": {...}}}}

An input or output is {"dtype", "shape"}, null in the shape where any size will do; the first axis
is the batch. An input whose values have a range also has "minimum" and "maximum".
"""

from tfssl.errors import expect
from tfssl.storage.files import read_json

FILE = "contract.json"
FORMAT = 1


def make_contract(run, found, reference):
    """The contract as plain JSON values.

    Args:
      run: a `TrainedRun`.
      found: its `functions`.
      reference: what they make of real inputs, see `tfssl.export.reference`.
    """
    signatures = {
        name: {
            "inputs": {
                key: _spec(spec.dtype.name, spec.shape.as_list()) | _range(key, spec, run)
                for key, spec in sorted(function.inputs.items())
            },
            "outputs": {
                key: _spec(_dtype(array), [None, *array.shape[1:]])
                for key, array in sorted(reference[name][1].items())
            },
        }
        for name, function in found.items()
    }
    signatures["serving_default"] = signatures["classify"]
    return {"format": FORMAT, "classes": list(run.class_names), "signatures": signatures}


def _spec(dtype, shape):
    return {"dtype": dtype, "shape": shape}


def _dtype(array):
    return "string" if array.dtype == object else array.dtype.name


def _range(key, spec, run):
    """The least and the largest value of an input, if it has such."""
    levels = run.preprocessing.levels
    top = {"x": levels, "y": len(run.class_names) - 1}.get(key)
    if key == "x" and levels is not None and spec.dtype.is_floating:
        top = 1  # intensities
    return {} if top is None else {"minimum": 0, "maximum": top}


def read_ranges(version):
    """{signature: {input: (minimum, maximum)}} of a `Version`, with None for no bound.

    Versions before the contract have their inputs in the card; a SavedModel alone has no ranges.
    """
    path, card = version.card / FILE, version.card / "card.json"
    if path.is_file():
        contract = read_json(path)
        expect(
            contract.get("format") == FORMAT,
            f"{path} must be a contract of format {FORMAT}",
            hint="It was written by another version of tfssl: use that one, or export again.",
            format=contract.get("format"),
        )
        signatures = _table(contract, "signatures", path)
        inputs = {name: _table(signatures[name], "inputs", path) for name in signatures}
    elif card.is_file():
        inputs = _table(read_json(card), "signatures", card)
        inputs["serving_default"] = inputs.get("classify", {})
    else:
        return {}
    return {name: _bounds(_table(inputs, name, path), path) for name in inputs}


def _bounds(inputs, path):
    """{input: (minimum, maximum)}."""
    found = {
        key: tuple(_table(inputs, key, path).get(end) for end in ("minimum", "maximum"))
        for key in inputs
    }
    for key, bounds in found.items():
        expect(
            all(end is None or type(end) in (int, float) for end in bounds),
            f"{path} must have numbers for the range of {key}",
            found=bounds,
        )
    return found


def _table(values, key, path):
    found = values.get(key) if isinstance(values, dict) else None
    expect(isinstance(found, dict), f"{path} must have a table `{key}`", found=type(found).__name__)
    return found
