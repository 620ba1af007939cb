"""What is written for TF Serving, read back by its own protos."""

import shlex
import stat

import pytest
from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from tfssl.errors import InputError
from tfssl.serving import tf_serving


@pytest.fixture
def models(tmp_path):
    for name in ("digits", "mnist"):
        (tmp_path / "saved models" / name / "1").mkdir(parents=True)
    return tmp_path / "saved models"


def test_the_files_name_the_models(models, tmp_path):
    written, command = tf_serving.write_serving_config(
        models, ["digits", "mnist"], tmp_path / "serving"
    )
    names = ["models.config", "batching.config", "compose.yaml", "docker-run.sh"]
    assert [path.name for path in written] == names
    config = text_format.Parse(
        (tmp_path / "serving" / "models.config").read_text(),
        model_server_config_pb2.ModelServerConfig(),
    )
    found = {c.name: c.base_path for c in config.model_config_list.config}
    assert found == {"digits": "/models/digits", "mnist": "/models/mnist"}
    assert all(c.model_version_policy.HasField("all") for c in config.model_config_list.config)
    words = shlex.split(command)
    assert f"{models}:/models:ro" in words
    assert f"{tmp_path}/serving:/config:ro" in words
    published = [words[i + 1] for i, word in enumerate(words) if word == "-p"]
    assert published == ["127.0.0.1:8501:8501", "127.0.0.1:8500:8500"]
    script = tmp_path / "serving" / "docker-run.sh"
    assert command in script.read_text()
    assert script.stat().st_mode & stat.S_IXUSR


def test_compose_starts_the_same_server(models, tmp_path):
    import yaml

    tf_serving.write_serving_config(models, ["digits"], tmp_path / "serving", "mine:1")
    (service,) = yaml.safe_load((tmp_path / "serving" / "compose.yaml").read_text())[
        "services"
    ].values()
    assert service["image"] == "mine:1"
    assert service["command"] == tf_serving.arguments()
    assert service["volumes"] == [f"{models}:/models:ro", f"{tmp_path}/serving:/config:ro"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_batching_parameters_are_text_protos(models, tmp_path):
    tf_serving.write_serving_config(models, ["digits"], tmp_path / "serving")
    text = (tmp_path / "serving" / "batching.config").read_text()
    for line in text.splitlines():
        name, rest = line.split(" ", 1)
        assert name in (
            "max_batch_size",
            "batch_timeout_micros",
            "max_enqueued_batches",
            "num_batch_threads",
        )
        assert int(rest.removeprefix("{ value: ").removesuffix(" }")) > 0


@pytest.mark.parametrize("names", [["none"], ["digits", "digits"], ["../digits"], ["digits", ""]])
def test_what_is_not_there_cannot_be_served(models, tmp_path, names):
    with pytest.raises(InputError):
        tf_serving.write_serving_config(models, names, tmp_path / "serving")
    assert not (tmp_path / "serving").exists()
