"""A blend in a folder, and back: data, never code.

  blend.json       name, view, temperature, weight and file of each member; temperature, shares
  views.npz        the maps from x to what members see
  m1.keras         the M1 of the view "latents", if it is one of them
  0.skops, ...     the members' classifiers; networks end in .keras

blend.json is the last file to be written: with it, all are there.
"""

from pathlib import Path

import numpy as np

from tfssl.blends.blend import Blend, Member, is_network
from tfssl.blends.views import NAMES, Views
from tfssl.classifiers.files import load_classifier, load_network, save_classifier, save_network
from tfssl.errors import expect
from tfssl.storage.archives import damaged, read_arrays
from tfssl.storage.files import atomic_path, read_json, write_json

FILE = "blend.json"
FORMAT = 1


def save_blend(folder, blend):
    """Write a `Blend` into a folder, which is made if need be."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    views = blend.views
    if views.m1 is not None:
        save_network(folder / "m1.keras", views.m1)
    with atomic_path(folder / "views.npz") as temporary:
        np.savez_compressed(temporary, **views.arrays())
    members = []
    for number, member in enumerate(blend.members):
        network = is_network(member.classifier)
        file = f"{number}.keras" if network else f"{number}.skops"
        (save_network if network else save_classifier)(folder / file, member.classifier)
        members.append(
            {
                "name": member.name,
                "view": member.view,
                "temperature": member.temperature,
                "weight": member.weight,
                "file": file,
            }
        )
    write_json(
        folder / FILE,
        {
            "format": FORMAT,
            "members": members,
            "m1": views.m1 is not None,
            "temperature": blend.temperature,
            "shares": blend.shares.tolist(),
            "labelled_shares": blend.labelled_shares.tolist(),
        },
    )


def load_blend(folder):
    """The `Blend` of a folder."""
    folder = Path(folder)
    path = folder / FILE
    found = read_json(path)
    expect(
        found.get("format") == FORMAT,
        f"{path} must be of format {FORMAT}",
        hint="It was written by another version of tfssl: use that one, or train again.",
        format=found.get("format"),
    )
    with damaged(path):
        _check(path, found)
        members = tuple(_member(folder, **about) for about in found["members"])
        shares, labelled_shares = (np.array(found[k]) for k in ("shares", "labelled_shares"))
    m1 = load_network(folder / "m1.keras") if found["m1"] else None
    path = folder / "views.npz"
    with damaged(path):
        views = Views.from_arrays(read_arrays(path), m1)
    blend = Blend(members, views, found["temperature"], shares, labelled_shares)
    with damaged(folder):  # files of different blends do not fit one another
        answer = blend(np.zeros((1, len(views.low)), np.float32))
        expect(np.isfinite(answer).all(), f"{folder} must give numbers for an input")
    return blend


def _check(path, found):
    """Fail unless the numbers of blend.json can be those of a blend."""
    members = found["members"]
    weights = np.array([member["weight"] for member in members], float)
    temperatures = np.array([found["temperature"], *(m["temperature"] for m in members)], float)
    shares = np.array([found["shares"], found["labelled_shares"]], float)
    good = all((row > 0).all() and abs(row.sum() - 1.0) < 1e-6 for row in (*shares, weights))
    expect(good, f"{path} must hold positive weights and shares that sum to 1")
    positive = (temperatures > 0).all() and np.isfinite(temperatures).all()
    expect(positive, f"{path} must hold positive temperatures")


def _member(folder, name, view, temperature, weight, file):
    number, dot, kind = file.partition(".")
    expect(
        number.isdecimal() and dot + kind in (".skops", ".keras") and view in NAMES,
        f"{folder / FILE} must name files of the folder, and views there are",
        file=file,
        view=view,
    )
    load = load_network if kind == "keras" else load_classifier
    return Member(str(name), view, load(folder / file), temperature, weight)
