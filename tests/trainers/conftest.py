"""Fixtures of the trainers' tests: a user's files, and a pod's code mount as real folders."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from trainer_infra import names
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.errors import InvalidInput
from trainer_infra.trainers import code_mount
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.trainer import PackedTrainer

Write = Callable[[str, str], Path]
Load = Callable[[str], ModuleType]
Problems = Callable[[CustomTrainer], list[str]]

WIRE: dict[str, Any] = {
    "apiVersion": names.API_VERSION,
    "kind": names.CLUSTER_TRAINING_RUNTIME,
    "metadata": {"name": "plain"},
    "spec": {
        "mlPolicy": {"numNodes": 1},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {names.ANCESTOR_LABEL: names.TRAINER}},
                            "spec": {"template": {"spec": {"containers": [{"name": names.NODE}]}}},
                        },
                    }
                ]
            }
        },
    },
}
RUNTIME = ClusterTrainingRuntime.from_wire(WIRE)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a user's file below the working directory."""
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def writes(path: str, text: str) -> Path:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(dedent(text).encode())
        return file

    return writes


@pytest.fixture
def module(write: Write) -> Load:
    """Write a user's module `fit.py` and import it."""

    def loads(text: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location("fit", write("fit.py", text))
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return loaded

    return loads


def messages(trainer: CustomTrainer) -> list[str]:
    """The problems of packing, as a user reads them."""
    with pytest.raises(InvalidInput) as caught:
        trainer.pack()
    return [str(problem) for problem in caught.value.problems]


@pytest.fixture
def problems() -> Problems:
    return messages


@dataclass(frozen=True)
class Pod:
    """A container's view of a packed trainer."""

    folder: Path

    def run(self, packed: PackedTrainer, *, python: str = sys.executable) -> "Ended":
        """Mount and start it as a kubelet would, with our package out of sight."""
        job = {"metadata": {"name": "digits"}, "spec": {"trainer": packed.trainer}}
        attached, (config_map,) = code_mount.attach_code(job, RUNTIME, packed.code)
        mounts = {
            names.CODE_MOUNT: self.folder / "code",
            names.SECRET_MOUNT: self.folder / "secret",
        }
        for volume in _volumes(attached):
            if "configMap" in volume:
                _mount(mounts[names.CODE_MOUNT], config_map["data"], volume["configMap"])
            else:
                _mount(mounts[names.SECRET_MOUNT], packed.secret_data, volume["secret"])
        trainer = attached["spec"]["trainer"]
        env = {entry["name"]: entry.get("value", "") for entry in trainer.get("env", ())}
        words = (*trainer["command"], *trainer.get("args", ()))
        command = [
            part
            for each in words
            for part in ([python, "-S"] if each in ("python", "python3") else [each])
        ]
        for mounted, real in mounts.items():
            command = [each.replace(mounted, str(real)) for each in command]
            env = {name: text.replace(mounted, str(real)) for name, text in env.items()}
        ended = subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, env=env, check=False
        )
        return Ended(ended.returncode, ended.stdout, self._shown(ended.stderr))

    def _shown(self, text: str) -> str:
        return text.replace(str(self.folder), "POD")


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    folder = tmp_path / "pod"
    folder.mkdir()
    return Pod(folder)


def _volumes(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    patch = job["spec"]["runtimePatches"][-1]["trainingRuntimeSpec"]["template"]["spec"]
    volumes: list[dict[str, Any]] = patch["replicatedJobs"][0]["template"]["spec"]["template"][
        "spec"
    ]["volumes"]
    return volumes


def _mount(folder: Path, data: Mapping[str, str], volume: Mapping[str, Any]) -> None:
    """Lay files out as a kubelet does: real ones in a dated folder, links to them in the mount."""
    dated = folder / "..2026_10_01"
    for item in volume["items"]:
        file = dated / item["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data[item["key"]].encode())
    (folder / "..data").symlink_to(dated.name)
    for top in dated.iterdir():
        (folder / top.name).symlink_to(f"..data/{top.name}")
