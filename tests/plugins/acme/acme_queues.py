"""A scheduler and a framework from another package, each one value: nothing of ours knows them.

The scheduler reads its queue from a label of the JobSet. The framework starts CustomTrainer's
program with `acmerun`, also in the pods of the replicated job `worker`.
"""

from dataclasses import replace

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.render import scheduler
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Launcher, Plugin, Scheduler

QUEUES = Scheduler(
    annotation="acme",
    settings=(names.QUEUE,),
    scheduler_name="acme-scheduler",
    has_queues=True,
)
ACMERUN = Launcher(
    lambda variables: ("acmerun", f"--env={','.join(variables)}"),
    jobs=("worker",),
)


def is_chosen(draft: Draft) -> bool:
    return scheduler.is_named(draft, QUEUES)


def enforce_pod_group_policy(draft: Draft) -> Draft:
    labels = {"acme.example/queue": draft.setting(names.QUEUE) or "default"}
    pod_sets = (replace(each, scheduler_name=QUEUES.scheduler_name) for each in draft.pod_sets)
    return replace(draft, labels={**draft.labels, **labels}, pod_sets=tuple(pod_sets))


def launcher(runtime: Runtime) -> Launcher | None:
    framework = (runtime.metadata.annotations or {}).get("acme.example/framework")
    return ACMERUN if framework == "acme" else None


SCHEDULER = Plugin(
    name="Acme",
    applies=is_chosen,
    enforce_pod_group_policy=enforce_pod_group_policy,
    scheduler=QUEUES,
)
FRAMEWORK = Plugin(
    name="AcmeRun",
    applies=lambda draft: launcher(draft.runtime) is not None,
    launcher=launcher,
)
