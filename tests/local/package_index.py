"""A package index on this machine, with one wheel made here: nothing is asked of the network."""

import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from typing_extensions import override

NAME = "planted"


class _Quiet(SimpleHTTPRequestHandler):
    @override
    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the installer's own log says what it asked."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The URL of an index that has `planted` 1.0, a module with a NAME."""
    _wheel(folder / "simple" / NAME)
    handler = partial(_Quiet, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/simple"
        server.shutdown()


def _wheel(folder: Path) -> None:
    folder.mkdir(parents=True)
    about = f"{NAME}-1.0.dist-info"
    files = {
        f"{NAME}.py": 'NAME = "wheel"\n',
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{about}/RECORD"))
    name = f"{NAME}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(folder / name, "w") as wheel:
        for path, text in (files | {f"{about}/RECORD": record}).items():
            wheel.writestr(path, text)
    (folder / "index.html").write_text(f'<a href="{name}">{name}</a>\n')
