"""Commands for devices: the files that `tfssl export --tflite` writes, and a client for them."""

from pathlib import Path
from typing import Annotated

import typer

from tfssl.commands.common import console
from tfssl.devices.litert import QUANTISATIONS
from tfssl.errors import InputError, expect


def classify_on_device(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL.tflite", help="A classifier that export wrote.")
    ],
    images: Annotated[
        list[Path],
        typer.Argument(metavar="IMAGE...", help="PNG, JPEG, or .npy with one input or several."),
    ],
    resize: Annotated[
        bool, typer.Option("--resize", help="Scale PNG and JPEG to the model's size.")
    ] = False,
    invert: Annotated[
        bool, typer.Option("--invert", help="Exchange black and white, as for ink on paper.")
    ] = False,
):
    """Classify images by a .tflite file with LiteRT, without TensorFlow: label, probabilities.

    tfssl/devices/ondevice.py is all there is to it: copy that file to a device.
    """
    from tfssl.devices import ondevice

    try:
        for where, probabilities, labels in ondevice.classify_files(model, images, resize, invert):
            line = f"{where}: {ondevice.describe(probabilities, labels)}"
            console.print(line, soft_wrap=True, markup=False, highlight=False)
    except ValueError as error:
        raise InputError(str(error)) from None


def parse_quantisations(text):
    """ "f32,int8" -> ("f32", "int8")."""
    found = tuple(part.strip() for part in text.split(","))
    expect(
        set(found) <= set(QUANTISATIONS) and len(set(found)) == len(found),
        f"--tflite must be some of {', '.join(QUANTISATIONS)}, with commas between",
        tflite=text,
    )
    return found


def conversion_progress(files):
    from rich.progress import track

    return track(files, "converting for devices", console=console, transient=True)


def print_files(folder):
    """What is in a folder of files for devices."""
    from rich.table import Table

    from tfssl.devices.ondevice import METADATA
    from tfssl.storage.files import read_json

    table = Table("file for devices", "kB", "off by on average", "at most")
    for name, about in read_json(folder / METADATA)["files"].items():
        off = about["difference"]
        size = f"{about['bytes'] / 1000:.0f}"
        table.add_row(name, size, f"{off['mean']:.1e}", f"{off['largest']:.1e}")
    console.print(table)
    console.print(f"for devices: {folder}", soft_wrap=True, highlight=False)
