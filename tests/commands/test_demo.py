"""`tfssl demo` as a user starts and stops it, and what it refuses."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from typer.testing import CliRunner

from tfssl import cli
from tfssl.demo import assets
from tfssl.errors import InputError


def refusal(*arguments):
    """The message of a call that must end as bad input does."""
    result = CliRunner().invoke(cli.app, ["demo", *map(str, arguments)])
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def test_a_run_must_be_there_and_finished(tmp_path):
    assert "must be a run folder" in refusal("--run", tmp_path / "none")
    (tmp_path / "run.json").write_text('{"format": 1, "status": "running"}')
    assert "must be finished" in refusal("--run", tmp_path)


def test_a_port_in_use_is_noticed_before_any_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        message = refusal("--port", taken.getsockname()[1])
    assert "cannot listen on 127.0.0.1" in message
    assert list(tmp_path.iterdir()) == []


def test_litert_must_be_in_the_named_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "must hold the npm packages" in refusal("--port", 0, "--litert", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_program_exits_with_2(tmp_path):
    command = [sys.executable, "-m", "tfssl.cli", "demo", "--run", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


@pytest.fixture
def packages(tmp_path):
    """A folder with the files of LiteRT.js, empty: no browser reads them here."""
    for name in assets.NEEDED:
        (tmp_path / "js" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "js" / name).write_text("")
    return tmp_path / "js"


def test_it_serves_until_it_is_stopped_and_leaves_nothing(run_folder, tmp_path, packages):
    shutil.copytree(run_folder("model=m2"), tmp_path / "runs" / "digits_m2")
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-m", "tfssl.cli", "demo", "--port", "0", "--litert", str(packages)]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env={"TMPDIR": str(tmp_path / "tmp"), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        lines = iter(program.stdout.readline, "")
        assert "exporting runs/digits_m2" in next(lines)
        url = next(lines).split()[1]
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{url}models/demo.json", timeout=30) as answer:
            assert json.load(answer)["data"] == "digits"
        with urllib.request.urlopen(f"{url}litert/core/dist/index.js", timeout=30) as answer:
            assert answer.headers.get_content_type() == "text/javascript"
        assert len(list((tmp_path / "tmp").glob("tfssl-demo-*"))) == 1
        program.send_signal(signal.SIGTERM)  # a shell's background has no SIGINT
        assert "stopped" in next(lines)
        assert program.wait(timeout=30) == 0
    # TensorFlow leaves a folder of its own here.
    assert list((tmp_path / "tmp").glob("tfssl-demo-*")) == []
