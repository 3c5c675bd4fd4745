"""CustomResourceDefinitions that a cluster of ours serves: those of our kinds and others' PodGroups.

Ours come from the package; JobSet's and the schedulers' come from their published Go modules, each
file known by its hash and kept in the cache folder.
"""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import yaml

from from_source.cluster import build
from from_source.cluster.client import Client
from from_source.cluster.waiting import wait_until
from tools import schemas
from trainer_infra.api import crd
from trainer_infra.errors import NotAvailable

JSON = dict[str, Any]

COLLECTION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
"""Where the API server keeps CRDs."""

_SERVED_WITHIN: Final = 60.0
"""Seconds until a new CRD is served."""


@dataclass(frozen=True, slots=True)
class Published:
    """A CRD's file in a published Go module."""

    module: str
    """Module path."""
    version: str
    """Its version."""
    path: str
    """The file within the module."""
    sha256: str
    """Hash of the file, so that what is downloaded is what was looked at."""


JOBSET: Final = Published(
    *schemas.CRDS["JobSet"],
    "d022b87624512cf0b6741b31b24a2bea9945b5a838b50713af29332c878bb6fe",
)
"""JobSet v0.12, what TrainJobs become."""

COSCHEDULING: Final = Published(
    "sigs.k8s.io/scheduler-plugins",
    "v0.32.7",
    "config/crd/bases/scheduling.x-k8s.io_podgroups.yaml",
    "acf75c3eef75e1273f0d1ed53a4b230b558d8066a92acdddc10c9bc8c91ab42c",
)
"""PodGroup of the coscheduling plugin."""

VOLCANO: Final = Published(
    "volcano.sh/volcano",
    "v1.10.0",
    "config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml",
    "93ee73585c010cdcf2bfd3fccffe1aa42aaaa3a0091350e55b62d15ea57bbb71",
)
"""PodGroup of Volcano: the newest release whose manifests can be had."""

_KUEUE: Final = partial(Published, *schemas.KUEUE)
KUEUE: Final = tuple(
    _KUEUE(f"config/components/crd/bases/kueue.x-k8s.io_{kinds}.yaml", sha256)
    for kinds, sha256 in (
        ("clusterqueues", "e0a5fc9b370c70f3d993d4f599865817338ecf94187b30b15b12ff33c579bd55"),
        ("localqueues", "dd10ef8d3578e7212fa52763549e7b6be0949793a5b924495fcd293330109fed"),
        ("cohorts", "61fbe5ec55d45e7fae2d65321fb32517b197257ab78ad55316673183aac911c2"),
        ("resourceflavors", "19e339c47e9ca3fa2c9eeddd27715a512f765c4794ed859733408a9715720173"),
        ("topologies", "f703575d3bb64d26f6e839f831e01646367ed41a89b3abf163f8e842ca1c4d2b"),
        ("admissionchecks", "2bf4003c0a3ea3d6ceab940c7a271ad211372dab59d2739acfa8b2bdb0724acb"),
        (
            "workloadpriorityclasses",
            "0b755726aab05b8def9a53ee15b201eed3846bcffd1ff5528fed123f4ae03519",
        ),
    )
)
"""What Kueue's administrators write; `published` reads each."""

_NETWORK_TOPOLOGY: Final = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": ["hard", "soft"], "default": "hard"},
        "highestTierAllowed": {"type": "integer"},
    },
}
"""What Volcano 1.11 added to its PodGroup, as its published Go types say (volcano.sh/apis)."""


def all_definitions() -> tuple[JSON, ...]:
    """Our CRDs, JobSet's and both PodGroups.

    Raises:
        NotAvailable: A module cannot be had, or its file is another than expected.
    """
    volcano = published(VOLCANO)
    spec = volcano["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["networkTopology"] = _NETWORK_TOPOLOGY
    return (*crd.crd_definitions(), published(JOBSET), published(COSCHEDULING), volcano)


def published(file: Published) -> JSON:
    """The CRD of a module, downloaded once.

    Raises:
        NotAvailable: The module cannot be had, or its file is another than expected.
    """
    kept = build.cache() / f"{file.sha256[:12]}-{file.path.rsplit('/', 1)[1]}"
    if not kept.exists():
        with build.alone("crds"):
            kept.write_bytes(_downloaded(file))
    found: JSON = yaml.load(kept.read_bytes(), yaml.CSafeLoader)
    return found


def _downloaded(file: Published) -> bytes:
    if shutil.which("go") is None:
        raise NotAvailable(
            f"a test cluster needs the CRD in {file.module} and found no `go` on PATH; "
            "install Go, so that the module can be downloaded"
        )
    content = (schemas.module_folder(file.module, file.version) / file.path).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise NotAvailable(f"{file.path} of {file.module} {file.version} has the hash {found}")
    return content


def install(client: Client, definitions: Sequence[JSON]) -> None:
    """Create CRDs and wait until they are served.

    Raises:
        NotAvailable: The server refuses one, or does not serve it.
    """
    for each in definitions:
        answer = client.create(COLLECTION, each)
        if answer.message:
            raise NotAvailable(f"the API server refuses a CRD: {answer.message}")
    wait_until_served(client, definitions)


def wait_until_served(client: Client, definitions: Sequence[JSON]) -> None:
    """Return when objects of CRDs that are there can be listed, and discovery names them.

    Raises:
        NotAvailable: The server does not serve one.
    """
    for each in definitions:
        path = collection(each)
        if not wait_until(partial(_serves, client, path), _SERVED_WITHIN):
            raise NotAvailable(f"the API server does not serve {path}")


def _serves(client: Client, path: str) -> bool:
    """Whether objects can be listed, and discovery, which comes later, names their kind."""
    version, _, plural = path.rpartition("/")
    found = client.get(version)
    named = () if found.message else found.body["resources"]
    return not client.get(path).message and any(each["name"] == plural for each in named)


def collection(definition: JSON, namespace: str = "") -> str:
    """Path of a CRD's objects: of all namespaces, or of one."""
    spec = definition["spec"]
    scope = f"/namespaces/{namespace}" if namespace else ""
    version = spec["versions"][0]["name"]
    return f"/apis/{spec['group']}/{version}{scope}/{spec['names']['plural']}"
