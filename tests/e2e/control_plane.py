"""Trainer's control plane on the tests' cluster: what `TrainerControlPlane` declares, and the catalog.

One at a time: a session of tests asks for the one that it wants, and the one before goes.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from from_source.cluster import controller_image, images, kubectl, package_image, trainer
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import eventually
from tests.platform.declared_resources import declared_objects
from trainer_infra import catalog, platform
from trainer_infra.json_values import JSONObject

DEPLOYMENT = "deployment/kubeflow-trainer-controller-manager"
SYSTEM = "kubeflow-system"
IMAGES: Final[Mapping[str, Callable[[], str]]] = {
    "builtin": partial(package_image.loaded, controller_image.IMAGE),
    "upstream": lambda: images.loaded(trainer.IMAGE, trainer.archive()),
}
"""What puts the image of each implementation into the cluster; the names of all there are."""


class ControlPlanes:
    """The control plane that is there, if one is."""

    def __init__(self, kubeconfig: Path) -> None:
        self._system = Namespace(SYSTEM, kubeconfig, kubectl.program())
        self._arguments: dict[str, Any] | None = None
        self._objects: Sequence[JSONObject] = ()

    def use(self, **arguments: Any) -> None:
        """Have the one of these arguments of `TrainerControlPlane`, ready, and the runtimes.

        The one before goes with all its TrainJobs; its namespace stays, which is slow to end.
        """
        if arguments == self._arguments:
            return
        self._delete([each for each in self._objects if each["kind"] != "Namespace"])
        IMAGES[arguments["implementation"]]()
        self._arguments, self._objects = None, plane_objects(arguments)
        self._system.kubectl("apply", "--server-side", "-f", "-", given=_list(self._objects))
        self._system.kubectl("rollout", "status", DEPLOYMENT, "--timeout=240s")
        runtimes = [named.runtime().to_wire() for named in catalog.RUNTIMES]
        # The webhook answers a moment after the pod is ready.
        eventually(partial(self._is_applied, _list(runtimes)))
        self._arguments = arguments

    def remove(self) -> None:
        """Take it away with all TrainJobs and runtimes."""
        self._delete(self._objects, "--wait=false")

    def _delete(self, objects: Sequence[JSONObject], *options: str) -> None:
        if objects:
            whole = _list(objects[::-1])
            self._system.kubectl("delete", "--ignore-not-found", *options, "-f", "-", given=whole)

    def _is_applied(self, given: str) -> bool:
        try:
            self._system.kubectl(
                "apply", "--server-side", "--force-conflicts", "-f", "-", given=given
            )
        except AssertionError:
            return False
        return True


def plane_objects(arguments: Mapping[str, Any]) -> list[JSONObject]:
    """What `TrainerControlPlane` declares, in order."""
    folder = str(Path(kubectl.program()).parent)
    os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], folder])

    def declare() -> None:
        platform.TrainerControlPlane(
            "plane",
            image_pull_policy="IfNotPresent",
            resources={"requests": {"cpu": "20m", "memory": "64Mi"}},
            **arguments,
        )

    return list(declared_objects(declare).values())


def _list(objects: Sequence[JSONObject]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
