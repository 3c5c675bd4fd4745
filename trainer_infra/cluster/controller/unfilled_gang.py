"""A gang that Kubeflow Trainer's controller counts too large, so that no scheduler ever starts it. Pure.

The controller counts every pod of a run, also of jobs that start only after others
(docs/compatibility.md, Q15); a later release of it may not, so it is a warning.
"""

from collections.abc import Collection, Iterator

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.render import gang


def unfilled_gangs(objects: Collection[JSONObject]) -> Iterator[str]:
    """A sentence for each run whose gang waits for pods that JobSet makes only later.

    Args:
        objects: what the controller makes of TrainJobs.
    """
    groups = {
        _place(each): each["spec"]["minMember"]
        for each in objects
        if each["kind"] == names.POD_GROUP
    }
    for each in objects:
        if each["kind"] != names.JOBSET or _place(each) not in groups:
            continue
        late = [job for job, waits in gang.waits_of(each["spec"]).items() if waits]
        if late:
            yield (
                f"TrainJob {each['metadata']['name']}: Kubeflow Trainer's controller counts "
                f"{groups[_place(each)]} pods in its gang, also those of job {', '.join(late)}, which start "
                "only after others: the scheduler waits for them and starts nothing; run `pulumi config "
                "set trainer:engine provider`, or take a runtime without podGroupPolicy"
            )


def _place(value: JSONObject) -> tuple[str, str]:
    return str(value["metadata"].get("namespace", "")), str(value["metadata"]["name"])
