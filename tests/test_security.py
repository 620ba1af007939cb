"""No code but our own runs: read from the source."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted(
    p for name in ("tfssl", "benchmarks", "pipelines") for p in (ROOT / name).rglob("*.py")
)

# Text or data that becomes code, or a shell that reads it.
FORBIDDEN_CALLS = {
    "eval",
    "exec",
    "compile_command",
    "__import__",
    "os.system",
    "os.popen",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "yaml.load",
    "yaml.unsafe_load",
    "tempfile.mktemp",
    "keras.config.enable_unsafe_deserialization",
}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle"}
# A call and the keyword without which it would run what a file says.
REQUIRED = {
    "np.load": ("allow_pickle", False),
    "np.lib.format.read_array": ("allow_pickle", False),
    "keras.saving.load_model": ("safe_mode", True),
    "keras.models.load_model": ("safe_mode", True),
}


def name_of(node):
    """ "a.b.c" of an expression such as a.b.c, else ""."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return ""


def faults(tree):
    """What a module does that none of ours may do."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            names = []
        yield from (name for name in names if name.partition(".")[0] in FORBIDDEN_MODULES)
        if not isinstance(node, ast.Call):
            continue
        name = name_of(node.func)
        keywords = {k.arg: getattr(k.value, "value", None) for k in node.keywords}
        if name in FORBIDDEN_CALLS or keywords.get("shell") is True:
            yield name
        if keywords.get("allow_pickle") is True or keywords.get("safe_mode") is False:
            yield name
        if name in REQUIRED:
            keyword, value = REQUIRED[name]
            if keywords.get(keyword) is not value:
                yield f"{name} without {keyword}={value}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_turns_data_into_code(path):
    assert list(faults(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "text",
    [
        "eval('1')",
        "import pickle",
        "from joblib import load",
        "import os\nos.system('ls')",
        "subprocess.run('ls', shell=True)",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "keras.saving.load_model(path)",
        "keras.saving.load_model(path, safe_mode=False)",
    ],
)
def test_the_reader_of_the_source_sees_them(text):
    assert list(faults(ast.parse(text)))
