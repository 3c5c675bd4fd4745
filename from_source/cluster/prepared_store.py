"""What etcd has once an API server knows its CustomResourceDefinitions: made once, and copied for each server.

To teach a server that has just been started costs more than its start. A copy has no namespaces:
each server makes those that it needs itself, so that no two are taken for one cluster.
"""

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from from_source.cluster import build, crds, etcd, kube_apiserver
from from_source.cluster.client import Client
from from_source.cluster.process import Process
from trainer_infra.errors import NotAvailable

JSON = dict[str, Any]

_FORM: Final = "1"
"""Of what is kept; a change of this file that changes it makes what was kept another's."""
_NAMESPACES: Final = "/api/v1/namespaces"
_MAY_DELETE_NAMESPACES: Final = {"disable-admission-plugins": "NamespaceLifecycle"}


def start(folder: Path, definitions: Sequence[JSON]) -> tuple[Process, str]:
    """Start etcd in a folder, with the definitions in it: the process and the address for clients.

    Raises:
        NotAvailable: etcd or the API server cannot be built or does not come up.
    """
    kept = build.cache() / f"etcd-{_key(definitions)}"
    if not kept.exists():
        with build.alone("etcd"):
            if not kept.exists():
                _prepare(kept, definitions)
    _copy(kept, folder / etcd.DATA)
    return etcd.start(folder)


def _copy(data: Path, to: Path) -> None:
    """Copy etcd's data, which are mostly holes: it allots 64 MB to each of its logs at once."""
    subprocess.run(["cp", "--recursive", "--sparse=always", str(data), str(to)], check=True)


def _key(definitions: Sequence[JSON]) -> str:
    """Hash of all that decides what is kept."""
    programs = [Path(each) for each in (etcd.program(), kube_apiserver.program())]
    made = [(str(each), each.stat().st_size, each.stat().st_mtime_ns) for each in programs]
    decisive = json.dumps([_FORM, made, definitions], sort_keys=True)
    return hashlib.sha256(decisive.encode()).hexdigest()[:12]


def _prepare(kept: Path, definitions: Sequence[JSON]) -> None:
    with ExitStack() as ending:
        folder = Path(tempfile.mkdtemp(dir=kept.parent, prefix="etcd-new-"))
        ending.callback(shutil.rmtree, folder, ignore_errors=True)
        store, place = etcd.start(folder)
        ending.callback(store.kill)
        server, address = kube_apiserver.start(folder, place, _MAY_DELETE_NAMESPACES)
        ending.callback(server.kill)
        with Client(address) as client:
            crds.install(client, definitions)
            _delete_namespaces(client)
        server.kill()
        store.kill()
        _copy(folder / etcd.DATA, folder / kept.name)
        (folder / kept.name).rename(kept)


def _delete_namespaces(client: Client) -> None:
    for each in _names(client.get(_NAMESPACES).body["items"]):
        client.delete(f"{_NAMESPACES}/{each}")
        empty = {"metadata": {"name": each}, "spec": {"finalizers": []}}
        client.replace(f"{_NAMESPACES}/{each}/finalize", empty)
    if left := ", ".join(_names(client.get(_NAMESPACES).body["items"])):
        raise NotAvailable(f"the API server does not let go of {left}")


def _names(objects: Iterable[JSON]) -> Iterable[str]:
    return (str(each["metadata"]["name"]) for each in objects)
