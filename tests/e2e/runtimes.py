"""The shipped runtimes on the tests' cluster: image and packages are ours, the rest is as shipped.

The published images are gigabytes on registries that a closed network cannot reach. So containers
run from_source/cluster/base_image.py, with the packages of from_source/cluster/python.py and, where no
CustomTrainer brings code, the programs of training/ mounted from the host.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from from_source.cluster import base_image
from trainer_infra import catalog, names
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.catalog import initializers

JSON = dict[str, Any]

PROGRAMS = "/opt/programs"
"""Where pods find the programs."""
PACKAGES = "/opt/packages"
"""Where pods find the packages: below a home folder, other users than root could not read them."""
SOURCE = "/opt/source"
"""Where initializers find a folder of this machine."""
_HERE = Path(__file__).parent
_PACKAGE = Path(catalog.__file__).parent.parent
_SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def on_host(name: str, packages: Path | None = None) -> ClusterTrainingRuntime:
    """The shipped runtime of that name, in our image.

    Args:
        name: of the catalog.
        packages: folder of Python packages, of from_source/cluster/python.py.
    """
    env, folders = [{"name": "OMP_NUM_THREADS", "value": "1"}], {}
    if packages:
        env += _paths(PACKAGES)
        folders[PACKAGES] = packages
    return _edited(catalog.get(name), env, folders)


def with_programs(name: str, packages: Path) -> ClusterTrainingRuntime:
    """The same, with the training programs in every container, beside `trainer_infra`."""
    path = f"{PACKAGES}:{PROGRAMS}/lib"
    folders = {
        PACKAGES: packages,
        f"{PROGRAMS}/training": _HERE / "training",
        f"{PROGRAMS}/lib/trainer_infra": _PACKAGE,
    }
    return _edited(catalog.get(name), [{"name": "PYTHONPATH", "value": path}], folders)


def that_fetches(
    name: str, images: tuple[str, str], packages: Sequence[Path], source: Path
) -> ClusterTrainingRuntime:
    """A shipped runtime with initializers, which run our image of them and see a folder of this machine.

    Args:
        name: of the catalog.
        images: of the nodes, and of the initializers.
        packages: folders of Python packages for the nodes.
        source: what initializers find at `SOURCE`.
    """
    wire = catalog.get(name).to_wire()
    of_node = {f"{PACKAGES}/{index}": each for index, each in enumerate(packages)}
    env = [{"name": "OMP_NUM_THREADS", "value": "1"}, *_paths(*of_node)]
    for job in wire["spec"]["template"]["spec"]["replicatedJobs"]:
        pod = job["template"]["spec"]["template"]["spec"]
        is_node = job["name"] == names.NODE
        folders = of_node if is_node else {SOURCE: source}
        pod["volumes"] = [*_volumes(folders)]
        for container in pod["containers"]:
            container.pop("resources", None)
            container["image"] = images[0] if is_node else images[1]
            if not is_node:
                # The reference has an image for each of the two; ours is one.
                container.setdefault("args", [initializers.ROLES[job["name"]]])
            container["env"] = [*container.get("env", ()), *(env if is_node else ())]
            container["volumeMounts"] = [*container.get("volumeMounts", ()), *_mounts(folders)]
    return ClusterTrainingRuntime.from_wire(wire)


def _paths(*folders: str) -> list[JSON]:
    """Variables of a container whose packages are in folders."""
    programs = ":".join(f"{each}/bin" for each in folders)
    return [
        {"name": "PYTHONPATH", "value": ":".join(folders)},
        {"name": "PATH", "value": f"{programs}:{_SYSTEM}"},
    ]


def with_commands(
    runtime: ClusterTrainingRuntime, commands: dict[str, list[str]]
) -> ClusterTrainingRuntime:
    """A copy whose containers of these names run these commands."""
    wire = runtime.to_wire()
    for pod in _pods(wire):
        for container in pod["containers"]:
            if container["name"] in commands:
                container["command"] = commands[container["name"]]
    return ClusterTrainingRuntime.from_wire(wire)


def patch_of_node(pod: JSON) -> JSON:
    """A runtime patch of the pods of job `node`."""
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    spec = {"template": {"spec": {"replicatedJobs": [job]}}}
    return {"manager": "trainer-infra.local/e2e", "trainingRuntimeSpec": spec}


def describe_pods(project: Path, folders: dict[str, Path]) -> None:
    """Write to a project what its pods mount from this machine, as `patch`, and where they find packages, as `env`."""
    container = {"name": "node", "volumeMounts": [*_mounts(folders)]}
    pod = {"volumes": [*_volumes(folders)], "containers": [container]}
    packages = [each for each in folders if each.startswith(PACKAGES)]
    variables = {each["name"]: each["value"] for each in _paths(*packages)}
    place = project / "place.json"
    known: JSON = json.loads(place.read_text())
    known |= {"patch": patch_of_node(pod), "env": {**variables, "OMP_NUM_THREADS": "1"}}
    place.write_text(json.dumps(known))


def _edited(
    runtime: ClusterTrainingRuntime, env: list[JSON], folders: dict[str, Path]
) -> ClusterTrainingRuntime:
    wire = runtime.to_wire()
    for pod in _pods(wire):
        pod["volumes"] = [*pod.get("volumes", ()), *_volumes(folders)]
        for container in pod["containers"]:
            container["image"] = base_image.NAME
            container.pop("resources", None)
            container["env"] = [*container.get("env", ()), *env]
            container["volumeMounts"] = [*container.get("volumeMounts", ()), *_mounts(folders)]
    return ClusterTrainingRuntime.from_wire(wire)


def _pods(wire: JSON) -> Iterator[JSON]:
    for job in wire["spec"]["template"]["spec"]["replicatedJobs"]:
        yield job["template"]["spec"]["template"]["spec"]


def _volumes(folders: dict[str, Path]) -> Iterator[JSON]:
    for index, path in enumerate(folders.values()):
        yield {"name": f"host-{index}", "hostPath": {"path": str(path), "type": "Directory"}}


def _mounts(folders: dict[str, Path]) -> Iterator[JSON]:
    for index, place in enumerate(folders):
        # Packages are compiled by the first pod that imports them, for all that come after it.
        fixed = not place.startswith(PACKAGES)
        yield {"name": f"host-{index}", "mountPath": place, "readOnly": fixed}
