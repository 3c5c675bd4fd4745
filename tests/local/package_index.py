"""A package index of the test's own: small wheels, served as slowly as the test wants."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

from typing_extensions import override

LINK = '<a href="/files/{0}" data-core-metadata="true">{0}</a>\n'


@dataclass(frozen=True)
class Package:
    """One release of a package with one module."""

    name: str
    version: str = "1.0"
    needs: Sequence[str] = ()
    size: int = 0
    """Bytes of ballast, which does not compress."""

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}-py3-none-any.whl"

    def metadata(self) -> bytes:
        needs = "".join(f"Requires-Dist: {each}\n" for each in self.needs)
        head = f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n"
        return f"{head}{needs}".encode()

    def wheel(self) -> bytes:
        info = f"{self.name}-{self.version}.dist-info"
        ballast = hashlib.shake_256(self.name.encode()).digest(self.size)
        files = {
            f"{self.name}.py": f"VERSION = {self.version!r}\n".encode(),
            f"{info}/METADATA": self.metadata(),
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            **({f"{self.name}_data.bin": ballast} if ballast else {}),
        }
        record = "".join(f"{path},{_digest(data)},{len(data)}\n" for path, data in files.items())
        files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for path, data in files.items():
                # With a date of its own, so that two wheels are the same bytes.
                archive.writestr(zipfile.ZipInfo(path), data)
        return made.getvalue()

    def sha256(self) -> str:
        return hashlib.sha256(self.wheel()).hexdigest()


def wheel_folder(folder: Path, packages: Iterable[Package]) -> Path:
    """The folder, made, with a wheel of each."""
    folder.mkdir()
    for each in packages:
        (folder / each.file).write_bytes(each.wheel())
    return folder


def _digest(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"


@dataclass
class Index:
    """Where it is, and whether it gives the second half of a large file."""

    url: str
    open: Event = field(default_factory=Event)
    asked: list[str] = field(default_factory=list)


@contextmanager
def serving(*packages: Package) -> Iterator[Index]:
    """Serve packages; those with ballast come in two halves, the second once the index is open."""
    files = {each.file: each for each in packages}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            index.asked.append(self.path)
            last = self.path.rstrip("/").rpartition("/")[2]
            if last in files:
                self._file(files[last])
                return
            if last.removesuffix(".metadata") in files:
                package = files[last.removesuffix(".metadata")]
                self._answer(200, "text/plain", package.metadata())
                return
            page = "".join(LINK.format(name) for name in files if files[name].name == last)
            self._answer(200 if page else 404, "text/html", page.encode())

        def _file(self, package: Package) -> None:
            data = package.wheel()
            half = len(data) // 2 if package.size else len(data)
            self._answer(200, "application/octet-stream", data[:half], len(data))
            if half < len(data):
                self.wfile.flush()
                index.open.wait(60)
                self.wfile.write(data[half:])

        def _answer(self, code: int, kind: str, body: bytes, length: int | None = None) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    index = Index(f"http://127.0.0.1:{server.server_port}/simple")
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield index
    finally:
        index.open.set()
        server.shutdown()
        server.server_close()
        thread.join()
