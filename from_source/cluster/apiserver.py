"""A real Kubernetes API server without nodes: etcd, kube-apiserver and the CRDs.

`make apiserver` runs `main`; tests/apiserver uses `running`. Nothing schedules or runs pods here:
it judges objects as a cluster does. The other components of a cluster get a file each beside this.
"""

import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from from_source.cluster import crds, kube_apiserver, prepared_store
from from_source.cluster.client import Client
from from_source.cluster.kube_apiserver import Address
from trainer_infra.errors import TrainerInfraError


class RunningServer(NamedTuple):
    """A server that answers."""

    address: Address
    kubeconfig: Path
    """Of its administrator."""

    @property
    def folder(self) -> Path:
        """Of the server's files, which goes with it."""
        return self.kubeconfig.parent


@contextmanager
def running(more: Sequence[crds.JSON] = ()) -> Iterator[RunningServer]:
    """A server with our CRDs, JobSet's and the PodGroups'.

    Both processes end, and all files go, when the context ends or this process dies.

    Args:
        more: CRDs besides those.

    Raises:
        NotAvailable: A part cannot be built or does not come up.
    """
    with ExitStack() as ending:
        folder = Path(tempfile.mkdtemp(prefix="trainer-infra-apiserver-"))
        ending.callback(shutil.rmtree, folder, ignore_errors=True)
        definitions = (*crds.all_definitions(), *more)
        store, place = prepared_store.start(folder, definitions)
        ending.callback(store.kill)
        server, address = kube_apiserver.start(folder, place)
        ending.callback(server.kill)
        with Client(address) as client:
            crds.wait_until_served(client, definitions)
        yield RunningServer(address, _kubeconfig(folder, address))


def _kubeconfig(folder: Path, address: Address) -> Path:
    """A kubeconfig file; JSON is YAML too."""
    name = "trainer-infra"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": address.url,
                    "certificate-authority": str(address.certificate),
                },
            }
        ],
        "users": [{"name": name, "user": {"token": address.token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    file = folder / "kubeconfig"
    file.touch(mode=0o600)
    file.write_text(json.dumps(config, indent=2), "utf-8")
    return file


def main() -> int:
    """Run a server until Ctrl-C; the exit code."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with running() as (address, kubeconfig):
            print(f"API server on {address.url}; Ctrl-C ends it\nexport KUBECONFIG={kubeconfig}")
            sys.stdout.flush()
            signal.pause()
    except KeyboardInterrupt:
        return 0
    except TrainerInfraError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
