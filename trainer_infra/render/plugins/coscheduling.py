"""CoScheduling: the gang as a PodGroup of the scheduler-plugins project.

The template names the scheduler. Rules: reference behaviour 3.8.
"""

from collections.abc import Iterable
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import Coscheduling
from trainer_infra.json_values import JSONObject
from trainer_infra.render import gang
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin, Scheduler

TIMEOUT: Final = 60
"""Seconds that the gang may wait where the policy does not say."""


def enforce_pod_group_policy(draft: Draft) -> Draft:
    """The label by which the scheduler finds the pods of the gang."""
    mark = {names.COSCHEDULING_GROUP_LABEL: draft.job.metadata.name}
    return gang.with_mark(draft, gang.members(draft), labels=mark)


def build(draft: Draft) -> Iterable[JSONObject]:
    """The PodGroup."""
    coscheduling = draft.pod_group_policy.coscheduling or Coscheduling()
    timeout = coscheduling.schedule_timeout_seconds
    spec = {"scheduleTimeoutSeconds": TIMEOUT if timeout is None else timeout}
    yield gang.pod_group(draft, names.COSCHEDULING_API_VERSION, spec)


PLUGIN = Plugin(
    name="CoScheduling",
    applies=lambda draft: draft.pod_group_policy.coscheduling is not None,
    enforce_pod_group_policy=enforce_pod_group_policy,
    build=build,
    should_write=gang.should_write,
    watches=gang.watches(names.COSCHEDULING_API_VERSION),
    scheduler=Scheduler(pod_group_policy="coscheduling"),
)
