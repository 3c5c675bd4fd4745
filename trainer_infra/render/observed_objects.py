"""What a driver sees of one TrainJob's world: the input of `lifecycle.plan` and of two phases.

Plugins read it to leave a running object alone and to report a status; no plugin changes it.
"""

from dataclasses import dataclass

from trainer_infra.json_values import JSONObject


@dataclass(frozen=True, slots=True)
class ObservedObjects:
    """Live objects, in wire form."""

    jobset: JSONObject | None
    """The JobSet named as the TrainJob, with its status; None when there is none."""
    snapshot: JSONObject | None = None
    """The runtime snapshot ConfigMap; None when there is none."""
    objects: tuple[JSONObject, ...] = ()
    """Every other object that the TrainJob owns: Secrets, ConfigMaps, PodGroups."""
    pods: tuple[JSONObject, ...] = ()
    """The JobSet's pods with their status."""
    jobs: tuple[JSONObject, ...] = ()
    """The JobSet's Jobs with their status, where a driver read them."""
    pod_events: tuple[JSONObject, ...] | None = None
    """Events of the namespace's pods, where a driver read them because pods of these Jobs are gone."""
    events_written: frozenset[tuple[str, str]] = frozenset()
    """Reason and message of events of this TrainJob that were written: they are written once."""

    def find(self, kind: str, name: str) -> JSONObject | None:
        """The object of that kind and name among `objects`."""
        named = (each for each in self.objects if each["metadata"]["name"] == name)
        return next((each for each in named if each["kind"] == kind), None)
