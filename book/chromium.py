"""A Chromium, and a server for the built book: for tests, and for ``make audit``."""

import contextlib
import functools
import gzip
import http.server
import mimetypes
import os
import pathlib
import shutil
import threading
import urllib.parse
from collections.abc import Iterator

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")

# No requests of the browser's own, and no sandbox, which containers do not allow.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# What hosts of static sites compress.
_TEXT = ("text/", "application/javascript", "application/json", "image/svg+xml")


@functools.cache
def sent(path: pathlib.Path, _changed: int) -> tuple[bytes, str, bool]:
    """Return the body for a file, its type, and whether it is compressed."""
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    body = path.read_bytes()
    if kind.startswith(_TEXT):
        return gzip.compress(body, 6, mtime=0), kind, True
    return body, kind, False


class Site:
    """What a server sends, and what it was asked for.

    Args:
      folder: the built book.
      under: the path that the book has on the server, such as ``/repo``.
    """

    def __init__(self, folder: pathlib.Path, under: str = ""):
        self.folder, self.under = folder.resolve(), under
        self.address = ""
        self.asked: list[tuple[str, int]] = []

    def find(self, address: str) -> pathlib.Path | None:
        """Return the file for an address, or `None`; never one outside the folder."""
        path = urllib.parse.unquote(urllib.parse.urlsplit(address).path)
        if not path.startswith(f"{self.under}/"):
            return None
        file = (self.folder / path.removeprefix(f"{self.under}/")).resolve()
        file = file / "index.html" if file.is_dir() else file
        return file if file.is_file() and file.is_relative_to(self.folder) else None

    def handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        """Return the class that answers; as GitHub's pages do, also where none is."""
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self):
                self.do_GET()

            def do_GET(self):
                file, status = site.find(self.path), 200
                if file is None:
                    file, status = site.folder / "404.html", 404
                if not file.is_file():
                    self.send_error(404)
                    site.asked.append((self.path, 0))
                    return
                body, kind, packed = sent(file, file.stat().st_mtime_ns)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "max-age=600")
                if packed:
                    self.send_header("Content-Encoding", "gzip")
                self.end_headers()
                if self.command == "HEAD":
                    return
                site.asked.append((self.path, len(body)))
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        return Handler


@contextlib.contextmanager
def serving(folder: pathlib.Path, under: str = "") -> Iterator[Site]:
    """Serve the built book on 127.0.0.1, compressed, as hosts of static sites do.

    Args:
      folder: the built book.
      under: the path that the book has on the server; by default it is at the root.

    Yields:
      The site, whose `address` has no slash at its end.
    """
    site = Site(folder, under)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), site.handler())
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    site.address = f"http://127.0.0.1:{server.server_port}{under}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
