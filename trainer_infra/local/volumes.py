"""Volumes as folders: emptyDir, configMap, secret, downwardAPI, projected, claims and hostPath.

Claims live as long as the run and are shared by its pods; everything else is per try.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.local import network as loopback
from trainer_infra.local import pod_environment, run_folder, sources
from trainer_infra.local.pod_environment import Mounts, PodContext

SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108  the path that a pod mounts
Files = Mapping[str, tuple[bytes, int]]
"""Relative path to content and mode."""


def mounts_of(
    container: JSONObject, volumes: Mapping[str, Path], variables: Mapping[str, str]
) -> Mounts:
    """The mounts of a container; `variables` are those that `subPathExpr` may name."""
    folders = {}
    for mount in container.get("volumeMounts") or ():
        path = str(mount["mountPath"]).rstrip("/")
        if path == SHARED_MEMORY:
            continue
        below = mount.get("subPath") or sources.expand_references(
            mount.get("subPathExpr") or "", variables
        )
        folders[path] = _sub_path(volumes[mount["name"]], below)
    return Mounts(folders)


def _sub_path(folder: Path, below: str) -> Path:
    """A folder or file of a volume; a folder is made when it is not there."""
    if not below:
        return folder
    path = folder / below
    if not path.exists():
        path.mkdir(mode=0o700, parents=True)
    return path


def make_volumes(place: PodContext, base: Path, claims: Path) -> dict[str, Path]:
    """Make the folder of every volume of a pod, below `base` or `claims`.

    Raises:
        InvalidInput: A ConfigMap, a Secret or a key that it needs is not there.
    """
    volumes = place.pod["spec"].get("volumes") or ()
    return {each["name"]: _make(each, place, base, claims) for each in volumes}


def _make(volume: JSONObject, place: PodContext, base: Path, claims: Path) -> Path:
    name = str(volume["name"])
    if "hostPath" in volume:
        return _host_path(volume["hostPath"])
    if "persistentVolumeClaim" in volume:
        return _folder(claims / str(volume["persistentVolumeClaim"]["claimName"]))
    if "ephemeral" in volume:
        return _folder(claims / f"{place.pod['metadata']['name']}-{name}")
    folder = _folder(base / name)
    for path, (content, mode) in _files(volume, place).items():
        _write(folder / path, content, mode)
    return folder


def _folder(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _host_path(source: JSONObject) -> Path:
    path = Path(source["path"])
    if source.get("type") == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    return path


def _write(path: Path, content: bytes, mode: int) -> None:
    _folder(path.parent)
    run_folder.write_private(path, content)
    path.chmod(mode)


def _files(volume: JSONObject, place: PodContext) -> Files:
    """The files of a configMap, secret, downwardAPI or projected volume; none of an emptyDir."""
    if "projected" not in volume:
        return _of_source(volume, place)
    projected = volume["projected"]
    files: dict[str, tuple[bytes, int]] = {}
    for source in projected.get("sources") or ():
        mode = {"defaultMode": projected["defaultMode"]} if "defaultMode" in projected else {}
        files |= _of_source({kind: {**mode, **value} for kind, value in source.items()}, place)
    return files


def _of_source(volume: JSONObject, place: PodContext) -> Files:
    if "downwardAPI" in volume:
        return _downward(volume["downwardAPI"], place.pod)
    if "configMap" in volume:
        texts = _keyed(volume["configMap"], "name", place.sources.config_maps)
        return {path: (_localised(content, place), mode) for path, (content, mode) in texts.items()}
    if "secret" in volume:
        source = volume["secret"]
        name = "secretName" if "secretName" in source else "name"
        files = _keyed(source, name, place.sources.secrets)
        return {path: (content, 0o600) for path, (content, _) in files.items()}
    return {}


def _localised(content: bytes, place: PodContext) -> bytes:
    """A ConfigMap's text with endpoint names as loopback addresses; other bytes as they are."""
    try:
        return loopback.local_text(content.decode(), place.network).encode()
    except UnicodeDecodeError:
        return content


def _keyed(
    source: JSONObject, name_field: str, objects: Mapping[str, Mapping[str, bytes]]
) -> Files:
    """The files of a ConfigMap or Secret: all keys, or those of `items` under their paths."""
    name, optional = str(source[name_field]), source.get("optional")
    data = objects.get(name)
    default = int(source.get("defaultMode", 0o644))
    if data is None:
        if optional:
            return {}
        raise InvalidInput([Problem("volumes", "needs an object that is not there", got=name)])
    items = source.get("items")
    if not items:
        return {key: (value, default) for key, value in data.items()}
    missing = [each["key"] for each in items if each["key"] not in data]
    if missing and not optional:
        raise InvalidInput([Problem("volumes", f"needs keys that {name} lacks", got=missing)])
    return {
        each["path"]: (data[each["key"]], int(each.get("mode", default)))
        for each in items
        if each["key"] in data
    }


def _downward(source: JSONObject, pod: JSONObject) -> Files:
    default = int(source.get("defaultMode", 0o644))
    files = {}
    for item in source.get("items") or ():
        if "fieldRef" in item:
            value = sources.downward_field(pod, item["fieldRef"]["fieldPath"])
        else:
            reference = item["resourceFieldRef"]
            value = pod_environment.resource_amount(
                _container(pod, reference["containerName"]), reference
            )
        files[item["path"]] = (value.encode(), int(item.get("mode", default)))
    return files


def _container(pod: JSONObject, name: str) -> JSONObject:
    spec = pod["spec"]
    every: tuple[JSONObject, ...] = (*spec["containers"], *(spec.get("initContainers") or ()))
    return next(each for each in every if each["name"] == name)
