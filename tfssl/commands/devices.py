"""Commands for devices: the files that `tfssl export --tflite` writes, and a client for them."""

from pathlib import Path
from typing import Annotated

import typer

from tfssl.commands.common import say
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
    from tfssl.devices import ondevice  # heavy

    try:
        for where, probabilities, labels in ondevice.classify_files(model, images, resize, invert):
            say(f"{where}: {ondevice.describe(probabilities, labels)}")
    except ValueError as error:
        raise InputError(str(error)) from None


def parse_quantisations(text):
    """ "f32,int8" -> ("f32", "int8")."""
    from tfssl.devices.litert import QUANTISATIONS  # heavy

    found = tuple(part.strip() for part in text.split(","))
    expect(
        set(found) <= set(QUANTISATIONS) and len(set(found)) == len(found),
        f"--tflite must be some of {', '.join(QUANTISATIONS)}, with commas between",
        tflite=text,
    )
    return found
