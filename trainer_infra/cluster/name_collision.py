"""Objects that have a name that a run wants and are not the run's.

None is ever taken over, whatever `adopt` says: adopting is about runs, and what a run would take it
would also delete. JobSet itself makes one more object than we do, the headless Service by which
pods find one another (sigs.k8s.io/jobset, createHeadlessSvcIfNecessary), and takes any Service of
that name for it.
"""

from collections.abc import Mapping, Sequence

from trainer_infra import names
from trainer_infra.cluster import concurrent_requests, live_objects, ownership
from trainer_infra.errors import Refused, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.resource import SERVICE


def service_name(jobset: JSONObject) -> str:
    """Name of the Service that JobSet makes for a JobSet; empty where it makes none."""
    network = jobset["spec"].get("network")
    if not isinstance(network, Mapping):
        return str(jobset["metadata"]["name"])
    if network.get("enableDNSHostnames") is False:
        return ""
    return str(network.get("subdomain") or jobset["metadata"]["name"])


def refusal_of(live: JSONObject) -> Refused:
    """Why an object that is not the run's ends its submit."""
    never = ", as a JobSet cannot change" if live["kind"] == names.JOBSET else ""
    return Refused(
        f"{ownership.object_shown(live)} exists and belongs to {ownership.owner_shown(live)}; choose another "
        f"name, or delete it: adopt=True takes over runs, never single objects{never}"
    )


async def with_service(client: KubeClient, jobset: JSONObject) -> Refused | None:
    """Why a run cannot have its headless Service; None where it can, or that may not be read."""
    name, metadata = service_name(jobset), jobset["metadata"]
    if not name:
        return None
    try:
        live = await client.get(SERVICE, name, metadata["namespace"])
    except TrainerInfraError:
        # What else is asked at the same time has the better sentence.
        return None
    owners = live["metadata"].get("ownerReferences") or ()
    of_jobset = any(
        (each["kind"], each["name"]) == (names.JOBSET, metadata["name"]) for each in owners
    )
    if of_jobset or ownership.is_going(live):
        return None
    return Refused(
        f"{ownership.object_shown(live)} exists and belongs to {ownership.owner_shown(live)}, so JobSet cannot "
        "make the headless Service of that name, by which pods find one another; choose another "
        "name, delete it, or set spec.network.subdomain of the runtime's JobSet"
    )


async def require_free(client: KubeClient, wanted: Sequence[JSONObject], uid: str) -> None:
    """Raise where a run cannot have all its objects.

    Args:
        client: the cluster.
        wanted: its objects, the JobSet last.
        uid: of the run that has the name now; empty where there is none.

    Raises:
        Refused: An object is there that is neither that run's nor going.
    """
    namespace = wanted[-1]["metadata"]["namespace"]
    found = await concurrent_requests.all_results(
        live_objects.live_object(client, each, namespace) for each in wanted
    )
    for live in found:
        if live and not ownership.is_going(live) and not ownership.is_of(live, uid):
            raise refusal_of(live)
    if refused := await with_service(client, wanted[-1]):
        raise refused
