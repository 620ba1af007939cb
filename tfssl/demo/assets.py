"""LiteRT.js, which runs .tflite models in a browser: fetched once with npm, then kept.

The package is pinned by npm/package-lock.json, whose hashes npm checks.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tfssl.errors import InputError, expect

PINNED = Path(__file__).parent / "npm"
NEEDED = ("core/dist/index.js", "core/wasm/litert_wasm_internal.wasm", "wasm-utils/dist/index.js")
# Where the packages may lie in a folder that a user names.
LAYOUTS = ("", "@litertjs", "node_modules/@litertjs")


def version():
    """The pinned version of @litertjs/core."""
    pinned = json.loads((PINNED / "package.json").read_text(encoding="utf-8"))
    return pinned["dependencies"]["@litertjs/core"]


def cache_folder():
    """Where the pinned version is kept: in XDG_CACHE_HOME or ~/.cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tfssl" / f"litertjs-{version()}"


def locate(folder):
    """The folder with core/ and wasm-utils/ in one that a user names."""
    for layout in LAYOUTS:
        if _is_complete(Path(folder) / layout):
            return Path(folder) / layout
    raise InputError(
        f"{folder} must hold the npm packages @litertjs/core and @litertjs/wasm-utils. "
        f"Make it with `npm install --prefix {folder} @litertjs/core@{version()}`."
    )


def fetch(report=print):
    """The folder with core/ and wasm-utils/ of the pinned version, fetched if it is not there.

    Args:
      report: called with a line of text before the download.
    """
    target = cache_folder()
    if _is_complete(target):
        return target
    npm = shutil.which("npm")
    expect(
        npm is not None,
        "npm must be installed, to fetch LiteRT.js once",
        hint="Install Node.js, or name a folder that has @litertjs/core with --litert.",
    )
    report(f"fetching LiteRT.js {version()} with npm into {target} (once, 12 MB)")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".litertjs-") as temporary:
            _install(npm, Path(temporary))
            shutil.rmtree(target, ignore_errors=True)  # what is there is not complete
            (Path(temporary) / "node_modules" / "@litertjs").rename(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}.") from None
    return target


def _install(npm, folder):
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(PINNED / name, folder / name)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode != 0 or not _is_complete(folder / "node_modules" / "@litertjs"):
        raise InputError(
            f"npm could not fetch LiteRT.js:\n{result.stderr.strip()}\n"
            "Connect to the network for the first start, or name a folder with --litert."
        )


def _is_complete(folder):
    return all((folder / name).is_file() for name in NEEDED)
