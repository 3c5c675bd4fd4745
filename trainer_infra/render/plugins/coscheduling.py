"""CoScheduling: the gang as a PodGroup of the scheduler-plugins project.

The template names the scheduler. Rules: reference behaviour 3.8.
"""

from collections.abc import Iterable
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.render import gang
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin, Scheduler

TIMEOUT: Final = 60
"""Seconds that the gang may wait where the policy does not say."""


def applies(draft: Draft) -> bool:
    """Whether the runtime has podGroupPolicy.coscheduling."""
    policy = draft.runtime.spec.pod_group_policy
    return policy is not None and policy.coscheduling is not None


def enforce_pod_group_policy(draft: Draft) -> Draft:
    """The label by which the scheduler finds the pods of the gang."""
    return gang.with_mark(draft, labels={names.COSCHEDULING_GROUP_LABEL: draft.job.metadata.name})


def build(draft: Draft) -> Iterable[JSONObject]:
    """The PodGroup."""
    policy = draft.runtime.spec.pod_group_policy
    coscheduling = policy.coscheduling if policy else None
    timeout = coscheduling.schedule_timeout_seconds if coscheduling else None
    spec = {"scheduleTimeoutSeconds": TIMEOUT if timeout is None else timeout}
    yield gang.pod_group(draft, names.COSCHEDULING_API_VERSION, spec)


PLUGIN = Plugin(
    name="CoScheduling",
    applies=applies,
    enforce_pod_group_policy=enforce_pod_group_policy,
    build=build,
    should_write=gang.should_write,
    watches=gang.watches(names.COSCHEDULING_API_VERSION),
    scheduler=Scheduler(pod_group_policy="coscheduling"),
)
