"""A TCP link to the API server that tests can make slow, so that they can strike in between."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import yaml


class SlowLink:
    """Forwards 127.0.0.1:<port> to a server; every piece of data waits for `delay` seconds."""

    def __init__(self, host: str, port: int) -> None:
        self.delay = 0.0
        self._to = (host, port)
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self.port = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait(10)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._link, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._ended = asyncio.Event()
        await self._ended.wait()
        server.close()
        links = asyncio.all_tasks() - {asyncio.current_task()}
        for each in links:
            each.cancel()
        await asyncio.gather(*links, return_exceptions=True)

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._to)
        await asyncio.gather(self._pump(reader, back), self._pump(there, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            while data := await reader.read(65536):
                await asyncio.sleep(self.delay)
                writer.write(data)
                await writer.drain()
        writer.close()

    def close(self) -> None:
        """End every connection."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()


@contextmanager
def slow_link(kubeconfig: Path, copy: Path) -> Iterator[SlowLink]:
    """A link to the server of a kubeconfig; `copy` becomes one that goes through it."""
    config = yaml.safe_load(kubeconfig.read_text())
    (cluster,) = (each["cluster"] for each in config["clusters"])
    server = urlsplit(cluster["server"])
    assert server.hostname
    assert server.port
    link = SlowLink(server.hostname, server.port)
    cluster["server"] = f"https://{server.hostname}:{link.port}"
    copy.touch(mode=0o600)
    copy.write_text(json.dumps(config))
    try:
        yield link
    finally:
        link.close()
