"""A pod's manifest as commands with environment and folders, ready to start."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.local import pod_environment, unsupported_fields, volumes
from trainer_infra.local.children import Command
from trainer_infra.local.container import ContainerSetup
from trainer_infra.local.pod import PodSetup
from trainer_infra.local.pod_environment import Mounts, PodContext
from trainer_infra.render import resources

VARIABLES: Final = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip
"""Read by OpenMP (PyTorch, XGBoost, LightGBM, scikit-learn) and by the libraries below NumPy."""
PROCESSES: Final = "PET_NPROC_PER_NODE"
"""torchrun's number of processes, or a word such as `auto`, for which torchrun sets threads itself."""


@dataclass(frozen=True, slots=True)
class PodFolders:
    """Where one try of a pod may write."""

    folder: Path
    """Its own folder, new for each try."""
    claims: Path
    """The run's volume claims."""
    mark: str
    """The mark of its processes."""


def prepare_pod(place: PodContext, ground: PodFolders) -> PodSetup:
    """Make a pod's folders and environment; raises as `volumes.make_volumes` and the file system do."""
    spec = place.pod["spec"]
    ground.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folders = volumes.make_volumes(place, ground.folder / "volumes", ground.claims)

    def setup(container: JSONObject) -> ContainerSetup:
        own = pod_environment.container_variables(container, place)
        mounts = volumes.mounts_of(container, folders, own.values)
        places = {path: str(folder) for path, folder in mounts.folders.items()}
        name = str(container["name"])
        environment = {
            **thread_variables(container, own.values),
            **pod_environment.container_environment(own, place, mounts),
            # For `trainer_infra.storage.mounted`.
            **({names.MOUNTS_VARIABLE: json.dumps(places)} if places else {}),
            names.PROCESS_MARK: f"{ground.mark}/{name}",
        }
        command = container.get("command") or unsupported_fields.image_entrypoint(container)
        words = (*command, *(container.get("args") or ()))
        arguments = [pod_environment.expand_word(word, own, place, mounts) for word in words]
        folder = _working_folder(container.get("workingDir") or "", mounts, ground.folder / "work")
        return ContainerSetup(name, Command(arguments, environment, folder), container)

    return PodSetup(
        init=tuple(setup(each) for each in spec.get("initContainers") or ()),
        main=tuple(setup(each) for each in spec["containers"]),
        grace=float(spec.get("terminationGracePeriodSeconds", 30)),
    )


def _working_folder(path: str, mounts: Mounts, work: Path) -> Path:
    """The working directory: a mount's folder, or one of that name below the pod's own."""
    folder = mounts.folder(path) if path else None
    if folder is None:
        folder = work / path.lstrip("/")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def thread_variables(container: JSONObject, own: Mapping[str, str]) -> dict[str, str]:
    """The variables that limit threads; none where the container asks for no processors, or sets one.

    Without them each library starts a thread for every processor of the machine, and containers that
    asked for one each hinder one another; its request counts, else its limit. torchrun's rule, one thread for
    each of several processes, comes out of it where there are as many as processors.

    `own` are the variables that the container defines.
    """
    processes = own.get(PROCESSES, "1")
    if any(name in own for name in VARIABLES) or not processes.isdecimal():
        return {}
    processors = resources.cpus(container.get("resources") or {})
    if not processors:
        return {}
    return dict.fromkeys(VARIABLES, str(max(1, processors // max(1, int(processes)))))
