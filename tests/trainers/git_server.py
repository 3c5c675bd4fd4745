"""A git repository, and a server that gives it over HTTP as forges do: git's own `http-backend`."""

import os
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from typing_extensions import override

AUTHOR = {
    f"GIT_{who}_{what}": "test@example.com"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


@dataclass(frozen=True)
class Repository:
    """A folder with a work tree."""

    folder: Path

    @property
    def url(self) -> str:
        return f"git+{self.folder.as_uri()}"

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *words],
            cwd=self.folder,
            env={**os.environ, **AUTHOR},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str | bytes], message: str = "more") -> str:
        """Write files and commit them; the commit."""
        for path, content in files.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")


def new_repository(folder: Path) -> Repository:
    folder.mkdir(parents=True)
    made = Repository(folder)
    made.git("init", "--quiet", "--initial-branch=main")
    return made


@contextmanager
def serving(root: Path, password: str = "") -> Iterator[tuple[str, list[str]]]:
    """The URL of the repositories below a folder, and the requests so far."""
    asked: list[str] = []
    allowed = b64encode(f"reader:{password}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            if password and self.headers.get("Authorization") != f"Basic {allowed}":
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.end_headers()
                return
            asked.append(self.path)
            path, _, query = self.path.partition("?")
            given = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            env = {
                **os.environ,
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(given)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            done = subprocess.run(
                ["git", "http-backend"], input=given, env=env, capture_output=True, check=True
            )
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            fields = [line.split(": ", 1) for line in head.decode().splitlines()]
            status = next((value for name, value in fields if name == "Status"), "200")
            self.send_response(int(status.split()[0]))
            for name, value in fields:
                if name != "Status":
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
