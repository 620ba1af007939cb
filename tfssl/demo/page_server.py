"""A small web server for the page: three folders, read only, on loopback unless told otherwise."""

import http.server
import socket
import sys
from pathlib import Path

from tfssl.errors import InputError

STATIC = Path(__file__).parent / "static"
HEADERS = {
    # The page may talk to this server alone: what is drawn stays where it is. Its import map is
    # inline, and LiteRT.js is WebAssembly.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; "
    "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",  # ask whether a file has changed: the next run has the same names
}


class PageHandler(http.server.SimpleHTTPRequestHandler):
    """Serves the files of the server's folders; there are no listings."""

    # Not from the system's tables, which may lack these or have them wrong.
    extensions_map = {  # noqa: RUF012  as in the base class
        "": "application/octet-stream",
        ".css": "text/css; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".mjs": "text/javascript; charset=utf-8",
        ".wasm": "application/wasm",
    }

    server: "PageServer"

    def translate_path(self, path):
        """The file of a request; the base class keeps `..` from leaving the folder."""
        for prefix, folder in self.server.folders.items():
            if path.startswith(prefix):
                self.directory = str(folder)
                path = path[len(prefix) - 1 :]
                break
        else:
            self.directory = str(STATIC)
        # No file has a NUL in its name, but open() would raise.
        return super().translate_path(path).replace("\0", "\N{REPLACEMENT CHARACTER}")

    def list_directory(self, path):  # noqa: ARG002
        self.send_error(http.HTTPStatus.NOT_FOUND)

    def end_headers(self):
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_request(self, code="-", size="-"):
        pass  # errors are logged all the same


class PageServer(http.server.ThreadingHTTPServer):
    """Listens from the start, so that a port in use is noticed before any work.

    Args:
      host: address or name to listen on.
      port: 0 lets the system choose.
      folders: {prefix of the path, such as "/models/": folder}; all else is the page itself.
    """

    def __init__(self, host, port, folders):
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.folders = folders
        try:
            super().__init__((host, port), PageHandler)
        except OSError as error:
            raise InputError(
                f"cannot listen on {host}, port {port}: {error.strerror}. "
                "Choose another --port (0: any free one) or --host."
            ) from None

    def handle_error(self, request, client_address):
        # A page that is closed or reloaded drops its connections: nothing to report.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self):
        """Where a browser on this machine finds the page."""
        host, port = str(self.server_address[0]), self.server_address[1]
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
