"""JSON to arrays and back, in the shape of TF Serving's REST interface, with every value checked.

  {"signature_name": "encode", "instances": [x, ...]}        rows    -> {"predictions": [...]}
  {"signature_name": "decode", "inputs": {"y": [...], ...}}  columns -> {"outputs": ...}

A signature with one input takes its value itself; one with several takes {name: value}. Outputs
go by the same rule.
"""

from dataclasses import dataclass

import numpy as np

from tfssl.errors import expect

DEFAULT_SIGNATURE = "serving_default"
FIELDS = {"signature_name", "instances", "inputs"}


@dataclass(frozen=True)
class Input:
    """What a signature takes under one name.

    Attributes:
      name: of the input.
      dtype: a numpy dtype of numbers.
      shape: None where any size will do; the first axis is the batch.
      minimum, maximum: of its values, or None.
    """

    name: str
    dtype: np.dtype
    shape: tuple
    minimum: float | None = None
    maximum: float | None = None

    def array(self, value):
        """A JSON value, or an array, as what the signature takes; `InputError` if it cannot be."""
        try:
            array = np.asarray(value)
        except ValueError:  # rows of different lengths
            array = np.asarray(None)
        integer = self.dtype.kind in "iu"
        expect(
            array.dtype.kind in ("iu" if integer else "iuf"),
            f"`{self.name}` must be {self._kind} of the shape {self._shape}",
            hint="Rows must have equal lengths, and every element must be a number.",
            dtype=array.dtype.name,
        )
        fits = len(array.shape) == len(self.shape) and all(
            size == wanted or (wanted is None and size > 0)
            for size, wanted in zip(array.shape, self.shape, strict=True)
        )
        expect(
            fits,
            f"`{self.name}` must have the shape {self._shape}",
            hint="The first axis is the batch.",
            shape=list(array.shape),
        )
        low, high = self.minimum, self.maximum
        if integer and low is None:
            low, high = np.iinfo(self.dtype).min, np.iinfo(self.dtype).max
        with np.errstate(over="ignore"):
            converted = array.astype(self.dtype)
        expect(bool(np.isfinite(converted).all()), f"`{self.name}` must hold finite numbers")
        expect(
            low is None or bool(((array >= low) & (array <= high)).all()),
            f"the values of `{self.name}` must lie between {low} and {high}",
            smallest=array.min().item(),
            largest=array.max().item(),
        )
        return converted

    @property
    def _kind(self):
        return "integers" if self.dtype.kind in "iu" else "numbers"

    @property
    def _shape(self):
        return "[" + ", ".join("any" if n is None else str(n) for n in self.shape) + "]"


def read_request(body, signatures):
    """A request's signature, arrays and format.

    Args:
      body: decoded JSON.
      signatures: {name: {name of the input: `Input`}}.

    Returns:
      name: of the signature.
      arrays: {name of the input: array}.
      in_rows: whether the request has "instances".
    """
    expect(isinstance(body, dict), "the request must be a JSON object", found=type(body).__name__)
    unknown = sorted(set(body) - FIELDS)
    expect(not unknown, f"the request may have the fields {sorted(FIELDS)}", unknown=unknown)
    in_rows = "instances" in body
    expect(
        in_rows != ("inputs" in body),
        'the request must have either "instances" (rows) or "inputs" (columns)',
    )
    name = body.get("signature_name", DEFAULT_SIGNATURE)
    inputs = find_signature(name, signatures)
    columns = _columns(body["instances"], inputs) if in_rows else _named(body["inputs"], inputs)
    return name, check_inputs(columns, inputs), in_rows


def find_signature(name, signatures):
    """The inputs of a signature."""
    expect(
        isinstance(name, str) and name in signatures,
        f"the signature must be one of {', '.join(sorted(signatures))}",
        signature_name=name,
    )
    return signatures[name]


def check_inputs(columns, inputs):
    """{name: array} of {name: value}, of one batch."""
    expect(
        set(columns) == set(inputs),
        f"the inputs must be {', '.join(sorted(inputs))}",
        inputs=sorted(columns),
    )
    arrays = {name: inputs[name].array(value) for name, value in columns.items()}
    rows = {name: len(array) for name, array in arrays.items()}
    expect(len(set(rows.values())) == 1, "all inputs must have the same number of rows", **rows)
    return arrays


def _columns(instances, inputs):
    """Rows -> {name: values}."""
    expect(
        isinstance(instances, list) and len(instances) > 0,
        '"instances" must be a list with at least one element',
    )
    rows = [_named(instance, inputs) for instance in instances]
    for row in rows:
        expect(
            set(row) == set(inputs),
            f"every instance must have the inputs {', '.join(sorted(inputs))}",
            found=sorted(row),
        )
    return {name: [row[name] for row in rows] for name in inputs}


def _named(value, inputs):
    """A value, or {name: value}, as the latter."""
    if isinstance(value, dict):
        return value
    expect(
        len(inputs) == 1,
        f"several inputs must be given by their names: {', '.join(sorted(inputs))}",
    )
    return {next(iter(inputs)): value}


def response(outputs, in_rows):
    """The answer to a request as JSON values; outputs {name: array}."""
    values = {name: plain(array) for name, array in outputs.items()}
    if len(values) == 1:
        (answer,) = values.values()
    elif in_rows:
        rows = zip(*values.values(), strict=True)
        answer = [dict(zip(values, row, strict=True)) for row in rows]
    else:
        answer = values
    return {"predictions" if in_rows else "outputs": answer}


def plain(array):
    """An array as nested lists; bytes become text."""
    return (np.char.decode(array.astype(bytes)) if array.dtype == object else array).tolist()
