"""A folder of pictures: each sub-folder is a class; `unlabelled/` and the root have no label.

  PATH/cat/*.png  PATH/dog/*.jpg  PATH/unlabelled/*.png  PATH/*.png  PATH/test/cat/*.png

`test/` is optional and has sub-folders of its own; if there is a `train/` with sub-folders, all
else lies in it.
Pictures are brought to one size, grey or colour, and decoded once, see `tfssl.data.cache`.
"""

import contextlib
import io
import os
import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from tfssl.data.cache import cached_arrays
from tfssl.data.source import NO_LABEL, Source, check_classes
from tfssl.errors import InputError, expect

SUFFIXES = (".png", ".jpg", ".jpeg")
UNLABELLED = ("unlabelled",)
# Automatic sizes: what the networks learn in minutes. The principal components of a colour image
# take the cube of its pixels to find.
MAX_SIDE = {1: 64, 3: 32}


def load(folder, image_size=None, colour=None, memory_limit_mb=1000):
    """The `Source` of a folder.

    Args:
      folder: its path.
      image_size: (height, width) to bring pictures to; chosen by `common_form` if None.
      colour: whether to keep colours; None if all pictures agree.
      memory_limit_mb: a larger set stays on disk.
    """
    folder = Path(folder)
    # A folder "train" without sub-folders is a class, such as one of vehicles.
    nested = (folder / "train").is_dir() and any(p.is_dir() for p in (folder / "train").iterdir())
    train = labelled_files(folder / "train" if nested else folder)
    test = labelled_files(folder / "test") if (folder / "test").is_dir() else []
    class_names = sorted({name for _, name in train if name is not None})
    check_classes(class_names, folder, 'each sub-folder but "unlabelled" and "test" is a class')
    strangers = sorted({name for _, name in test if name is not None} - set(class_names))
    expect(
        not strangers,
        f"{folder / 'test'}: every class must also be among the training pictures",
        unknown=strangers,
    )
    paths = {"x": [path for path, _ in train], "x_test": [path for path, _ in test]}
    schema = common_form(paths["x"] + paths["x_test"], image_size, colour)
    shape = image_shape(schema)
    stats = [(str(path), path.stat()) for path in paths["x"] + paths["x_test"]]
    key = {
        "folder": str(folder.resolve()),
        "schema": schema,
        "files": [(path, stat.st_size, stat.st_mtime_ns) for path, stat in stats],
        "test": len(test),
    }

    def build():
        return {
            name: ((len(part), *shape), np.uint8, (read_image(path, schema) for path in part))
            for name, part in paths.items()
        }

    number = {name: k for k, name in enumerate(class_names)} | {None: NO_LABEL}
    return Source(
        name=folder.resolve().name,
        label=np.array([number[name] for _, name in train], np.int64),
        label_test=np.array([number[name] for _, name in test], np.int64),
        class_names=tuple(class_names),
        levels=255,
        schema=schema,
        files=tuple(path.relative_to(folder).as_posix() for path in paths["x"]),
        files_test=tuple(path.relative_to(folder).as_posix() for path in paths["x_test"]),
        **cached_arrays(key, build, memory_limit_mb),
    )


def labelled_files(root):
    """[(path, class name or None)] of the pictures under `root`, in a fixed order."""
    found = []
    for entry in sorted(root.iterdir()):
        if entry.is_dir() and entry.name.lower() in UNLABELLED:
            found += [(path, None) for path in picture_files(entry)]
        elif entry.is_dir() and entry.name != "test" and not entry.name.startswith("."):
            pictures = picture_files(entry)
            expect(bool(pictures), f"the class folder {entry} must hold png or jpg pictures")
            found += [(path, entry.name) for path in pictures]
        elif is_picture(entry):
            found.append((entry, None))
    expect(
        bool(found),
        f"{root} must hold png or jpg pictures, those of a class in a sub-folder",
        pictures=0,
    )
    return found


def picture_files(folder):
    """All pictures in a folder and below, sorted; other files are left alone."""
    every = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    return sorted(path for path in every if is_picture(path))


def is_picture(path):
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def common_form(pictures, image_size=None, colour=None):
    """The form that all pictures get: {"format", "height", "width", "channels"}.

    Not given, the size is the median height and width, shrunk if a side is too long; pictures that
    are neither all grey nor all in colour are refused.

    Args:
      pictures: paths, or bytes of encoded pictures.
      image_size: (height, width) or None.
      colour: True, False or None.
    """
    if image_size is None or colour is None:
        forms = [_form(picture) for picture in pictures]
        coloured = sum(form[2] for form in forms)
        expect(
            colour is not None or coloured in (0, len(forms)),
            "pictures must be all grey or all in colour",
            hint="Choose with --set data.colour=true or --set data.colour=false.",
            grey=len(forms) - coloured,
            colour=coloured,
        )
        colour = coloured > 0 if colour is None else colour
        if image_size is None:
            height, width = np.median([form[:2] for form in forms], axis=0)
            shrink = min(1.0, MAX_SIDE[3 if colour else 1] / max(height, width))
            image_size = (max(1, round(height * shrink)), max(1, round(width * shrink)))
    return {
        "format": "images",
        "height": int(image_size[0]),
        "width": int(image_size[1]),
        "channels": 3 if colour else 1,
    }


def image_shape(schema):
    """The shape of one stored picture: grey ones have no axis for channels."""
    sides = (schema["height"], schema["width"])
    return sides if schema["channels"] == 1 else (*sides, 3)


def read_image(picture, schema):
    """A picture (path or bytes) in the form of the schema, uint8 [height, width] or [..., 3].

    Transparent parts become white, a photograph stands as its camera was held.
    """
    with _opened(picture) as image:
        return fit(ImageOps.exif_transpose(image), schema)


def fit(image, schema):
    """A Pillow image as an array of the schema's form."""
    if image.mode.startswith("I"):  # 16 bits
        image = Image.fromarray((np.asarray(image) >> 8).clip(0, 255).astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    image = image.convert("L" if schema["channels"] == 1 else "RGB")
    size = (schema["width"], schema["height"])
    if image.size != size:
        image = image.resize(size, Image.Resampling.BILINEAR)
    return np.asarray(image)


def read_new(path, schema):
    """New pictures to classify, one file or all below a folder: (x, names)."""
    path = Path(path)
    paths = picture_files(path) if path.is_dir() else [path]
    expect(bool(paths), f"{path} must hold png or jpg pictures", pictures=0)
    names = [str(p.relative_to(path)) if path.is_dir() else p.name for p in paths]
    return np.stack([read_image(p, schema) for p in paths]), names


def _form(picture):
    """(height, width, whether in colour) from the head of the file."""
    with _opened(picture) as image:
        width, height = image.size
        if image.getexif().get(0x0112, 1) >= 5:  # the camera was held upright
            width, height = height, width
        return height, width, image.mode not in ("1", "L", "LA", "I", "I;16", "I;16B")


@contextlib.contextmanager
def _opened(picture):
    """A Pillow image of a path or of bytes; what is wrong with it is the input's fault."""
    encoded = isinstance(picture, bytes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            file = io.BytesIO(picture) if encoded else picture
            with Image.open(file, formats=("PNG", "JPEG")) as image:
                yield image
    except Exception as error:  # Pillow's decoders raise whatever a damaged file leads them to
        where = "a picture in the records" if encoded else str(picture)
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"{where} is not a readable png or jpg picture: {reason}.") from None
