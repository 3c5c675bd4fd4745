"""A fourth scheduler and a framework of another package: listed, everything follows them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.command import command_in
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.render import pipeline, plugin_registry
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.rules import RULES, tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.trainers import compose, kept_outputs
from trainer_infra.trainers.code import Code

SCHEDULER = "acme_queues:SCHEDULER"
FRAMEWORK = "acme_queues:FRAMEWORK"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
QUEUED = {"trainer-infra.dev/scheduler": "acme", "trainer-infra.dev/queue": "team"}
INIT = ("python3", "/opt/trainer-infra/code/init.py")
CODE = Code({"main.py": ""}, (), secret_args=False)


def behaviour() -> Behaviour:
    return Behaviour(plugin_registry.plugins_with([SCHEDULER, FRAMEWORK]))


def replicated(name: str, **labels: str) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "node", "image": "python:3.11"}]}}
    return {"name": name, "template": {"metadata": {"labels": labels}, "spec": {"template": pod}}}


def runtime(*, policy: Any = None, **annotations: str) -> dict[str, Any]:
    jobs = [replicated("node", **{STEP: "trainer"}), replicated("worker"), replicated("other")]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "acme", "annotations": annotations},
        "spec": {
            **({"podGroupPolicy": policy} if policy else {}),
            "template": {"spec": {"replicatedJobs": jobs}},
        },
    }


def job(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "default", **metadata},
        "spec": {
            "runtimeRef": {"name": "acme"},
            "trainer": {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        },
    }


def pods(jobset: Mapping[str, Any]) -> dict[str, Any]:
    jobs = jobset["spec"]["replicatedJobs"]
    return {each["name"]: each["template"]["spec"]["template"]["spec"] for each in jobs}


def problems(given: dict[str, Any], on: dict[str, Any], by: Behaviour) -> list[str]:
    typed = TrainJob.from_wire(given), ClusterTrainingRuntime.from_wire(on)
    return [str(each) for each in pipeline.rendering_problems(*typed, by)]


def found(rule: str, *objects: dict[str, Any]) -> list[str]:
    """What the rule finds in the first object."""
    (chosen,) = [
        ConfiguredRule(each, each.severity, each.parameters()) for each in RULES if each.id == rule
    ]
    subjects = tree.subjects_of(objects, behaviour=behaviour())
    judged = judge(subjects[0], world.world_of(subjects), [chosen])
    return [finding.what for each in judged for finding in each.findings]


def test_the_annotation_chooses_the_scheduler_and_its_settings() -> None:
    made = compose.compose(
        job(annotations=QUEUED), ClusterTrainingRuntime.from_wire(runtime()), None, (), behaviour()
    )
    jobset = made.objects[-1]
    assert jobset["metadata"]["labels"] == {"acme.example/queue": "team"}
    assert {each["schedulerName"] for each in pods(jobset).values()} == {"acme-scheduler"}


def test_its_value_is_one_of_the_choices_where_it_is_listed() -> None:
    wrong = job(annotations={"trainer-infra.dev/scheduler": "slurm"})
    (listed_too,) = problems(wrong, runtime(), behaviour())
    (ours,) = problems(job(annotations=QUEUED), runtime(), Behaviour())
    assert listed_too.endswith("got 'slurm'; write one of kai, yunikorn, kueue, acme")
    assert ours.endswith("got 'acme'; write one of kai, yunikorn, kueue")


def test_a_setting_it_does_not_take_and_a_second_gang_are_refused() -> None:
    given = job(annotations={**QUEUED, "trainer-infra.dev/topology": "rack"})
    setting, gang = problems(given, runtime(policy={"coscheduling": {}}), behaviour())
    assert "[trainer-infra.dev/topology]: is not a setting of acme" in setting
    assert "cannot be combined with trainer-infra.dev/scheduler: acme" in gang


@pytest.mark.parametrize("policy", [{"coscheduling": {}}, {"volcano": {}}])
def test_gang_policy_knows_that_it_makes_the_gang(policy: dict[str, Any]) -> None:
    on = runtime(policy=policy, **{"trainer-infra.dev/scheduler": "acme"})
    what = "names a scheduler that makes the gang itself, and there is a podGroupPolicy"
    assert found("gang-policy", on) == [what]
    assert found("gang-policy", runtime(policy=policy)) == []


def test_one_queueing_knows_its_queues() -> None:
    kueue = {"kueue.x-k8s.io/queue-name": "team"}
    what = "puts the job into a queue of Kueue, and Acme has its own"
    assert found("one-queueing", job(labels=kueue, annotations=QUEUED), runtime()) == [what]
    assert found("one-queueing", job(labels=kueue), runtime()) == []


def test_custom_trainer_starts_with_the_frameworks_launcher_in_all_its_jobs() -> None:
    on = ClusterTrainingRuntime.from_wire(runtime(**{"acme.example/framework": "acme"}))
    kept = kept_outputs.attach_outputs(job(), on, {"model": "pvc://models"}, behaviour().plugins)
    made = compose.compose(kept, on, CODE, (), behaviour())
    assert made.job.spec.trainer is not None
    assert made.job.spec.trainer.command == (
        *INIT,
        *("acmerun", "--env=A,B,TRAINER_INFRA_OUTPUT_MODEL"),
        "/opt/trainer-infra/code/main.py",
    )
    mounts = {
        name: sorted(mount["name"] for mount in pod["containers"][0].get("volumeMounts", ()))
        for name, pod in pods(made.objects[-1]).items()
    }
    both = ["trainer-infra-code", "trainer-infra-output-model"]
    assert mounts == {"node": both, "worker": both, "other": []}


def test_on_another_runtime_custom_trainer_starts_with_python() -> None:
    on = ClusterTrainingRuntime.from_wire(runtime())
    made = compose.compose(job(), on, CODE, (), behaviour())
    assert made.job.spec.trainer is not None
    assert made.job.spec.trainer.command == (*INIT, "python", "/opt/trainer-infra/code/main.py")


def test_the_command_line_renders_with_both(tmp_path: Path) -> None:
    command = command_in(tmp_path)
    command.write("job.yaml", yaml.safe_dump_all([runtime(), job(annotations=QUEUED)]))
    done = command("render", "-f", "job.yaml", "--plugin", SCHEDULER, "--plugin", FRAMEWORK)
    *_, jobset = yaml.safe_load_all(done.out)
    assert done.code == 0, done.err
    assert jobset["metadata"]["labels"] == {"acme.example/queue": "team"}
