"""The page's server over real HTTP: types, headers, what it refuses, and where it listens."""

import http.client
import socket
import threading
import time

import pytest

from tfssl.demo.page_server import STATIC, PageServer
from tfssl.errors import InputError


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("site")
    (root / "secret.txt").write_text("secret")
    (root / "models" / "inner").mkdir(parents=True)
    (root / "models" / "demo.json").write_text("{}")
    (root / "models" / "decode.tflite").write_bytes(b"TFL3")
    (root / "models" / "large").write_bytes(bytes(50_000_000))
    (root / "litert" / "core").mkdir(parents=True)
    (root / "litert" / "core" / "a.wasm").write_bytes(b"\0asm")
    (root / "litert" / "core" / "b.mjs").write_text("")
    folders = {"/models/": root / "models", "/litert/": root / "litert"}
    with PageServer("127.0.0.1", 0, folders) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(server, path, method="GET"):
    """Ask for a path as it is: (status, headers, body)."""
    connection = http.client.HTTPConnection(*server.server_address, timeout=10)
    connection.putrequest(method, path)
    connection.endheaders()
    answer = connection.getresponse()
    result = answer.status, answer.headers, answer.read()
    connection.close()
    return result


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/main.js", "text/javascript"),
        ("/style.css", "text/css"),
        ("/models/demo.json", "application/json"),
        ("/models/decode.tflite", "application/octet-stream"),
        ("/litert/core/a.wasm", "application/wasm"),
        ("/litert/core/b.mjs", "text/javascript"),
    ],
)
def test_every_file_has_its_type_and_the_headers(server, path, kind):
    status, headers, _ = get(server, path)
    assert status == 200
    assert headers.get_content_type() == kind
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-cache"
    assert "default-src 'self'" in headers["Content-Security-Policy"]


def test_the_page_is_the_one_of_the_package(server):
    assert get(server, "/")[2] == (STATIC / "index.html").read_bytes()
    assert get(server, "/?a=b")[2] == (STATIC / "index.html").read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/models/../secret.txt",
        "/models/..%2fsecret.txt",
        "/models/%2e%2e/secret.txt",
        "/models/..%5csecret.txt",
        "/models//../../secret.txt",
        "/litert/core/../../secret.txt",
        "/models/../../../../../../etc/passwd",
        "//etc/passwd",
        "/../page_server.py",
        "/models/%00",
        "/models/demo.json%00.html/",
        "/models/",
        "/models/inner/",
        "/nothing",
    ],
)
def test_nothing_outside_the_folders_and_no_listings(server, path):
    status, _, body = get(server, path)
    assert status == 404
    assert b"secret" not in body.replace(b"secret.txt", b"")


def test_it_only_reads(server):
    for method in ("POST", "PUT", "DELETE"):
        assert get(server, "/models/demo.json", method)[0] == 501


def test_a_reader_that_goes_away_is_no_trouble(server, capsys):
    with socket.create_connection(server.server_address) as connection:
        connection.sendall(b"GET /models/large HTTP/1.0\r\n\r\n")
        connection.recv(1000)
        # Closed with unread data, and so reset.
    assert get(server, "/models/large", "HEAD")[0] == 200
    for _ in range(100):
        if threading.active_count() == 2:  # this one and the server's
            break
        time.sleep(0.05)
    assert "Traceback" not in capsys.readouterr().err


def test_it_listens_where_it_is_told_to():
    with PageServer("127.0.0.1", 0, {}) as server:
        assert server.socket.getsockname()[0] == "127.0.0.1"
        port = server.server_address[1]
        assert server.url == f"http://127.0.0.1:{port}/"
        with pytest.raises(InputError, match=rf"cannot listen on 127.0.0.1, port {port}.*--port"):
            PageServer("127.0.0.1", port, {})


def test_the_address_of_all_interfaces_is_no_address_to_open():
    with PageServer("0.0.0.0", 0, {}) as server:
        assert server.url == f"http://127.0.0.1:{server.server_address[1]}/"


def test_a_bad_host_is_an_input_error():
    for host in ("no such host", "203.0.113.1"):
        with pytest.raises(InputError, match="cannot listen on"):
            PageServer(host, 0, {})


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_ipv6_addresses():
    try:
        server = PageServer("::1", 0, {})
    except InputError:
        pytest.skip("no IPv6 loopback")
    with server:
        assert server.url == f"http://[::1]:{server.server_address[1]}/"
