"""A status server as a process of its own, so that its memory is its own: `python -m` with two arguments.

They are a kubeconfig, and a PEM file with certificate and key. It prints its port, and ends when its input does.
"""

import asyncio
import ssl
import sys

from trainer_infra.controller import status_server
from trainer_infra.controller.report_rate import Rate
from trainer_infra.controller.status_server import StatusServerSettings
from trainer_infra.kube import http

OFTEN = Rate(1e6, 10**6)


async def main(kubeconfig: str, pair: str) -> None:
    settings = StatusServerSettings(
        host="127.0.0.1", port=0, pod_rate=OFTEN, train_job_rate=OFTEN, review_rate=OFTEN
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair)
    client = await http.connect_client(kubeconfig)
    async with status_server.serving(client, tls, settings) as port:
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
    await client.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
