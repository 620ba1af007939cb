"""Where LiteRT.js comes from: named, kept, or fetched by npm; and what is said if it cannot."""

import json

import pytest

from tfssl.demo import assets
from tfssl.errors import InputError


def unpack(folder):
    """Files where the packages have them."""
    for name in assets.NEEDED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, and no programs to be found."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "cache" / "tfssl"


def put_npm(folder, script):
    """A program named npm."""
    (folder / "bin").mkdir()
    (folder / "bin" / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / "npm").chmod(0o755)


@pytest.mark.parametrize("layout", assets.LAYOUTS)
def test_a_named_folder_may_be_laid_out_as_npm_does(layout, tmp_path):
    unpack(tmp_path / "mine" / layout)
    assert assets.locate(tmp_path / "mine") == tmp_path / "mine" / layout


def test_a_named_folder_without_the_packages_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"@litertjs/core.*npm install --prefix"):
        assets.locate(tmp_path)


def test_what_is_kept_is_used_without_npm(cache):
    kept = unpack(cache / f"litertjs-{assets.version()}")
    assert assets.fetch(report=pytest.fail) == kept


def test_without_npm_it_says_what_to_do():
    with pytest.raises(InputError, match=r"npm must be installed.*--litert"):
        assets.fetch()


@pytest.mark.parametrize("script", ["echo no network >&2; exit 1", "exit 0"])
def test_a_failed_download_leaves_nothing_behind(script, cache, tmp_path):
    put_npm(tmp_path, script)
    lines = []
    with pytest.raises(InputError, match=r"npm could not fetch LiteRT.js"):
        assets.fetch(lines.append)
    assert "fetching LiteRT.js" in lines[0]
    assert list(cache.iterdir()) == []


def test_the_version_is_pinned_with_hashes_and_without_a_host():
    lock = json.loads((assets.PINNED / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages["node_modules/@litertjs/core"]["version"] == assets.version()
    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())
    assert not any("resolved" in entry for entry in packages.values())
