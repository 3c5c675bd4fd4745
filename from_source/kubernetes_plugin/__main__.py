"""Stand in for Pulumi's Kubernetes plugin, unless the real one is on this machine.

tools/setup.py links this as `pulumi-resource-kubernetes` beside the CLI that it builds. The engine
passes its address as the last argument and reads our port from the first line of stdout.
"""

import asyncio
import os
import signal
import stat
import sys
from typing import Final

from from_source.kubernetes_plugin.real_plugin import real_plugin

MESSAGE_LIMIT: Final = 400 * 1024 * 1024
"""Bytes of one message, as the engine allows."""
GRACE: Final = 2.0
"""Seconds that calls under way have in the end."""


def main() -> None:
    """Become the real plugin, or serve until the engine ends us or is gone."""
    real = real_plugin(os.environ)
    if real is not None:
        os.execv(real, [str(real), *sys.argv[1:]])  # noqa: S606  no shell wanted
    asyncio.run(_serve(sys.argv[-1]))


async def _serve(address: str) -> None:
    import grpc.aio  # noqa: PLC0415  only where the real plugin is not there
    from pulumi.runtime.proto.provider_pb2_grpc import (  # noqa: PLC0415
        add_ResourceProviderServicer_to_server,
    )

    from from_source.kubernetes_plugin.resource_provider import KubernetesProvider  # noqa: PLC0415

    limits = [(f"grpc.max_{way}_message_length", MESSAGE_LIMIT) for way in ("send", "receive")]
    server = grpc.aio.server(options=limits)
    provider = KubernetesProvider(address)
    add_ResourceProviderServicer_to_server(provider, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await _ended()
    await server.stop(GRACE)
    await provider.close()


async def _ended() -> None:
    """Wait for a signal, or for the engine, which holds the other end of standard input, to go."""
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, gone.set)
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        loop.add_reader(0, lambda: None if os.read(0, 4096) else gone.set())
    await gone.wait()


if __name__ == "__main__":
    main()
