"""Doors: which module may import which, read from the source; and what loads when."""

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "tfssl"
LEAVES = {
    "archives",
    "config",
    "distributions",
    "errors",
    "files",
    "fused",
    "locks",
    "networks",
    "noise",
    "objectives",
    "optimizers",
}
LAYERS = {
    "leaf": {"leaf"},
    "data": {"leaf", "data"},
    "models": {"leaf", "models"},
    "classifiers": {"leaf", "classifiers"},
    "baselines": {"leaf", "data", "classifiers", "baselines"},
    "top": {"leaf", "data", "models", "classifiers", "baselines", "top"},
}


def layer(module):
    name = module.split(".")[1] if "." in module else ""
    if name in LEAVES:
        return "leaf"
    return name if name in LAYERS else "top"


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield f"{node.module}.{alias.name}" if node.module == "tfssl" else node.module


def test_imports_go_one_way():
    seen = 0
    for path in PACKAGE.rglob("*.py"):
        own = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for name in imports(path):
            assert not name.startswith("pipelines"), own
            if name.startswith("tfssl."):
                seen += 1
                assert layer(name) in LAYERS[layer(own)], f"{own} must not import {name}"
    assert seen > 40


def test_import_and_help_do_not_load_tensorflow():
    script = (
        "import sys, tfssl, tfssl.cli;"
        "heavy = [m for m in ('tensorflow', 'keras', 'sklearn') if m in sys.modules];"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_public_name_resolves():
    import tfssl

    for name in tfssl.__all__:
        assert callable(getattr(tfssl, name)), name
    assert set(tfssl.__all__) <= set(dir(tfssl))
