"""export, check-export, serve-config and serve on the command line: messages and exit codes."""

import socket
import sys

import pytest

from tfssl.errors import InputError


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory, call):
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    small = ["model=m2", "m2.epochs=2", "m2.hidden_units=[10]", "m2.latent_dim=2"]
    code, _, _ = call("train", "--run-dir", folder, *(f"--set={setting}" for setting in small))
    assert code == 0
    return folder


def test_export_check_and_configure(run_dir, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    code, output, _ = call("export", run_dir)
    assert code == 0
    assert "exported:   saved_models/tiny/1\n" in output
    assert "tfssl serve tiny --from saved_models" in output
    for signature in ("serving_default", "analogies", "log_likelihood_float"):
        assert signature in output
    for arguments in (["saved_models/tiny"], ["saved_models/tiny/1", "--run", run_dir]):
        code, output, _ = call("check-export", *arguments)
        assert code == 0
        assert "good: saved_models/tiny/1" in output
    code, output, _ = call("serve-config", "tiny")
    assert code == 0
    assert f"-v {tmp_path}/saved_models:/models:ro" in output
    assert (tmp_path / "serving" / "compose.yaml").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["export", "none"], "must be a run folder"),
        (["export", "RUN", "--name", "../up"], "name must be"),
        (["export", "RUN", "--to", "/proc/models"], "cannot create /proc/models"),
        (["export", "RUN", "--to", "a [bold] folder"], "must not have any of * ? [ \\ in it"),
        (["check-export", "none"], "must be an exported model"),
        (["check-export", "RUN"], "must be an exported model"),
        (["serve", "none"], "none must hold a version"),
        (["serve", "../up"], "name must be"),
        (["serve", "none", "--port", "70000"], "65535"),
        (["serve-config", "none"], "none must hold a version"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(
    run_dir, tmp_path, monkeypatch, arguments, message, call
):
    monkeypatch.chdir(tmp_path)
    code, _, error = call(*(run_dir if a == "RUN" else a for a in arguments))
    assert code == 2
    assert message in error
    assert not list(tmp_path.iterdir())


def test_a_port_that_is_taken():
    from tfssl.serving import server

    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(InputError, match="cannot listen on"),
    ):
        server.listen("127.0.0.1", taken.getsockname()[1])


def test_without_kserve_serve_says_what_to_install(monkeypatch, call):
    monkeypatch.setitem(sys.modules, "kserve", None)
    code, _, error = call("serve", "digits")
    assert code == 2
    assert 'pip install "tfssl[serve]"' in error
