"""Doors: which room may import which, read from the source; and what loads when."""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "tfssl"

# Every room, and every module beside the rooms, in the order of the data's way, with what it may
# import. A room's docstring says the same, and docs/architecture.md why.
DOORS = {
    "errors": "",
    "storage": "errors",
    "settings": "errors",
    "models": "errors",
    "classifiers": "errors storage settings models",
    "data": "errors storage settings",
    "blends": "errors storage models classifiers data",
    "runs": "errors storage settings models classifiers data blends",
    "training": "errors storage models classifiers data runs",
    "choice": "errors storage settings models classifiers data blends runs training",
    "pictures": "errors storage data runs",
    "results": "errors storage settings models runs pictures",
    "paper": "errors storage settings classifiers data runs training choice pictures results",
    "export": "errors storage settings models classifiers blends runs",
    "serving": "errors storage export",
    "devices": "errors storage runs export",
    "demo": "errors settings runs pictures devices",
    "estimator": "errors settings classifiers data blends runs training choice",
    "commands": "errors storage settings models data runs training choice pictures results paper "
    "export serving devices demo",
    "cli": "errors commands",
    # The public names, each loaded on first use.
    "__init__": "errors settings models classifiers runs choice estimator",
}
DOORS = {room: names.split() for room, names in DOORS.items()}


def modules(package):
    """{dotted name: path} of a package's modules; a room's own name is its `__init__`."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports(path, known):
    """The modules that a file names in imports, late ones too; as a whole string, if it is ours."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: say the whole name, not where it is from here"
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in known else node.module for name in names)
        elif isinstance(node, ast.Constant) and "." in str(node.value) and node.value in known:
            yield node.value  # for `importlib.import_module` or `python -m`


def graph(package, files=None):
    """{module: the modules of the package that it imports}, of its own or of other files."""
    known = modules(package)
    return {
        name: {n for n in imports(path, known) if n.split(".")[0] == package.name and n != name}
        for name, path in (files or known).items()
    }


def room(module):
    return module.split(".")[1] if "." in module else "__init__"


def forbidden(found, doors):
    """["a imports b"], for imports through walls, and modules that are in no room."""
    wrong = [f"{name} is in no room" for name in found if room(name) not in doors]
    for name, others in found.items():
        for other in others:
            inside = room(other) in (room(name), *doors.get(room(name), ()))
            wrong += [] if inside else [f"{name} imports {other}"]
    return sorted(wrong)


def missing(found, known):
    """["a imports b"], for modules b that are not there."""
    return sorted(f"{a} imports {b}" for a, names in found.items() for b in names if b not in known)


def cycle(found):
    """Modules that import one another in a ring, the first one again at the end; else None."""
    try:
        graphlib.TopologicalSorter(found).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return None


def test_imports_go_through_the_doors_alone():
    found = graph(PACKAGE)
    assert sum(map(len, found.values())) > 200
    assert forbidden(found, DOORS) == []


@pytest.mark.parametrize("folder", ["tfssl", "benchmarks", "pipelines", "tests"])
def test_every_import_names_a_module(folder):
    assert missing(graph(PACKAGE, modules(PACKAGE.parent / folder)), modules(PACKAGE)) == []


def test_no_door_leads_back():
    rooms = list(DOORS)
    for number, (name, others) in enumerate(DOORS.items()):
        assert set(others) <= set(rooms[:number]), name


def test_no_modules_import_one_another():
    assert cycle(graph(PACKAGE)) is None


def test_beside_the_rooms_lies_only_what_everyone_needs():
    found = {path.name for path in PACKAGE.glob("*.py")}
    assert found == {"__init__.py", "cli.py", "errors.py", "estimator.py"}
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms | {path.removesuffix(".py") for path in found} == set(DOORS)


@pytest.mark.parametrize("name", [name for name in DOORS if (PACKAGE / name).is_dir()])
def test_a_room_says_what_belongs_in_it_and_what_it_may_import(name):
    text = (PACKAGE / name / "__init__.py").read_text(encoding="utf-8")
    what, _, doors = ast.get_docstring(ast.parse(text)).rpartition("\n\n")
    assert what
    *first, last = DOORS[name]
    named = f"{', '.join(first)} and {last}" if first else f"{last} alone"
    assert " ".join(doors.split()) == f"Imports {named}."


def test_the_page_on_the_rooms_names_the_same_doors():
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .+ \| ([^|]*) \|$", page, re.MULTILINE)
    found = {room: [] if doors == "nothing" else doors.split(", ") for room, doors in rows}
    assert list(found.items()) == list(DOORS.items())


@pytest.fixture
def made_up(tmp_path):
    """A package of two rooms, `data` and `runs`, where runs may import data."""

    def make(**sources):
        for name in ("data", "runs"):
            (tmp_path / "house" / name).mkdir(parents=True)
            (tmp_path / "house" / name / "__init__.py").touch()
        for name, text in sources.items():
            (tmp_path / "house" / f"{name.replace('_', '/')}.py").write_text(text)
        return graph(tmp_path / "house")

    return make


@pytest.mark.parametrize(
    "source",
    [
        "import house.runs.folder",
        "from house.runs import folder",
        "from house.runs.folder import FORMAT",
        "def late():\n    from house.runs import folder",
        "import importlib\nimportlib.import_module('house.runs.folder')",
    ],
)
def test_an_import_of_what_lies_behind_is_refused(made_up, source):
    found = made_up(data_source=source, runs_folder="from house.data import source")
    doors = {"data": [], "runs": ["data"], "__init__": []}
    assert forbidden(found, doors) == ["house.data.source imports house.runs.folder"]
    assert set(cycle(found)) == {"house.data.source", "house.runs.folder"}


def test_imports_within_a_room_and_through_a_door_are_not_refused(made_up):
    found = made_up(
        runs_folder="from house.data import source\nimport numpy, house.runs.opened",
        runs_opened="",
        data_source="",
    )
    assert found["house.runs.folder"] == {"house.data.source", "house.runs.opened"}
    assert forbidden(found, {"data": [], "runs": ["data"], "__init__": []}) == []
    assert forbidden(found, {"data": [], "__init__": []})[-1] == "house.runs.opened is in no room"
    assert cycle(found) is None


def test_an_import_of_what_is_not_there_is_refused(made_up):
    found = made_up(runs_folder="def late():\n    from house.data.sources import load")
    assert missing(found, found) == ["house.runs.folder imports house.data.sources"]


def test_import_and_help_do_not_load_tensorflow():
    script = (
        "import sys, tfssl, tfssl.cli;"
        "heavy = {'tensorflow', 'keras', 'sklearn', 'numpy', 'pydantic'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_public_name_resolves():
    import tfssl

    for name in tfssl.__all__:
        assert callable(getattr(tfssl, name)), name
    assert set(tfssl.__all__) <= set(dir(tfssl))
