"""Reference behaviour 4.1, 4.4 and 4.5: the JobSet that a TrainJob becomes."""

from typing import Any

import pytest

from tests.conformance import objects
from tests.conformance.objects import DATASET, MODEL
from tests.conformance.places import Place
from tests.conformance.rules import rule
from trainer_infra.render.deviation import Deviation

JSON = dict[str, Any]

TRAINER = {"image": "example.com/mine:1", "command": ["python"], "args": ["train.py"]}
RUNTIMES = objects.container(command=["run"], args=["all"])
INITIALIZERS = [objects.initializer(DATASET), objects.initializer(MODEL), objects.job()]
LAUNCHER_AS_NODE = {"mpi": {"runLauncherAsNode": True}}
MPI_JOBS = [objects.job("node", None), objects.job("launcher")]


def job_set_of(place: Place, runtime: JSON, **spec: Any) -> JSON:
    place.add(runtime, objects.train_job(**spec))
    return place.job_set()


def count(job_set: JSON, name: str = "node") -> tuple[int, int]:
    spec = objects.replicated(job_set, name)["template"]["spec"]
    return spec["parallelism"], spec["completions"]


def host_file(place: Place) -> list[str]:
    found = place.until(lambda: place.find("ConfigMap", "a-mpi-hostfile"))
    lines: list[str] = found["data"]["hostfile"].splitlines()
    return lines


@rule("4.1-ancestor", "4.5-trainer")
def test_the_label_says_which_job_the_trainer_configures(place: Place) -> None:
    jobs = [objects.job("train", containers=[RUNTIMES]), objects.job("node", None)]
    job_set = job_set_of(place, objects.runtime("runtime", *jobs), trainer=TRAINER)
    ours, other = (objects.only(job_set, name) for name in ("train", "node"))
    assert {key: ours[key] for key in TRAINER} == TRAINER
    assert other["image"] == "example.com/runtime:1"


@rule("4.1-other-ancestor", "4.5-trainer-replicas")
def test_a_label_with_another_value_is_no_step(place: Place) -> None:
    jobs = [objects.job(), objects.job("other", "evaluator", outer={"replicas": 2})]
    job_set = job_set_of(place, objects.runtime("runtime", *jobs), trainer=TRAINER)
    other = objects.replicated(job_set, "other")
    assert other["replicas"] == 2
    assert objects.only(job_set, "other")["image"] == "example.com/runtime:1"


@rule("4.4-count")
@pytest.mark.parametrize(("spec", "nodes"), [({}, 3), ({"trainer": {"numNodes": 5}}, 5)])
def test_a_trainers_job_has_as_many_pods_as_there_are_nodes(
    place: Place, spec: JSON, nodes: int
) -> None:
    runtime = objects.runtime(policy={"numNodes": 3, "torch": {}})
    assert count(job_set_of(place, runtime, **spec)) == (nodes, nodes)


@rule("4.4-unset-count", "4.4-parallelism")
def test_each_job_completes_as_many_pods_as_it_runs(place: Place) -> None:
    many = objects.job("many", None, job={"parallelism": 3, "completions": 7})
    jobs = [objects.job("one", None), many, objects.job()]
    job_set = job_set_of(place, objects.runtime("runtime", *jobs, policy=None))
    assert [count(job_set, name) for name in ("one", "many", "node")] == [(1, 1), (3, 3), (1, 1)]


@rule("4.4-endpoints")
def test_a_host_file_has_the_address_of_each_pod(place: Place) -> None:
    runtime = objects.runtime("runtime", *MPI_JOBS, policy=LAUNCHER_AS_NODE)
    place.add(runtime, objects.train_job(trainer={"numNodes": 3, "numProcPerNode": 2}))
    assert host_file(place) == [
        "a-node-0-0.a slots=2",
        "a-node-0-1.a slots=2",
        "a-launcher-0-0.a slots=2",
    ]


@rule("4.4-subdomain")
def test_addresses_end_in_the_subdomain_of_the_runtime(place: Place) -> None:
    network = {"subdomain": "hosts"}
    place.add(objects.runtime("runtime", *MPI_JOBS, policy={"mpi": {}}, network=network))
    place.add(objects.train_job(trainer={"numNodes": 1}))
    assert host_file(place) == ["a-node-0-0.hosts slots=1"]


@rule("4.5-owner")
def test_the_train_job_controls_its_job_set(place: Place) -> None:
    place.add(objects.runtime())
    train_job = place.add(objects.train_job())
    metadata = place.job_set()["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("a", place.name)
    assert metadata["ownerReferences"] == [objects.controlled_by(train_job)]


@rule("4.5-metadata")
def test_labels_and_annotations_are_those_of_the_runtime_then_of_patches(place: Place) -> None:
    both = {"example.com/a": "runtime", "example.com/b": "runtime"}
    runtime = objects.runtime(template={"labels": both, "annotations": both})
    patched = {"example.com/b": "first", "example.com/c": "first"}
    patches = [
        objects.patch("example.com/first", labels=patched, annotations=patched),
        objects.patch("example.com/second", labels={"example.com/c": "second"}),
    ]
    metadata = job_set_of(place, runtime, runtimePatches=patches)["metadata"]
    merged = {"example.com/a": "runtime", "example.com/b": "first", "example.com/c": "first"}
    assert metadata["annotations"] == merged
    assert metadata["labels"] == {**merged, "example.com/c": "second"}


@rule("4.5-initializer-replicas", "4.5-trainer-replicas", differs=(Deviation.RUNTIME,))
def test_jobs_of_steps_have_one_replica_whatever_the_runtime_says(unjudged: Place) -> None:
    several = [{**each, "replicas": 3} for each in INITIALIZERS]
    unjudged.add(objects.runtime("runtime", *several), objects.train_job())
    if unjudged.deviates(Deviation.RUNTIME):
        unjudged.until_failure("replicas")
        unjudged.settle()
        assert unjudged.find("JobSet", "a") == {}
    else:
        replicas = [each["replicas"] for each in unjudged.job_set()["spec"]["replicatedJobs"]]
        assert replicas == [1, 1, 1]


@pytest.mark.parametrize(
    ("step", "field"),
    [
        pytest.param(DATASET, "dataset", marks=rule("4.5-dataset")),
        pytest.param(MODEL, "model", marks=rule("4.5-model")),
    ],
)
def test_an_initializer_gets_address_variables_and_secret(
    place: Place, step: str, field: str
) -> None:
    asked = {
        "storageUri": "hf://some/where",
        "env": [{"name": "REGION", "value": "a"}],
        "secretRef": {"name": "keys"},
    }
    runtime = objects.runtime("runtime", *INITIALIZERS)
    job_set = job_set_of(place, runtime, initializer={field: asked})
    container = objects.only(job_set, step, step)
    assert objects.variables(container) == {"STORAGE_URI": "hf://some/where", "REGION": "a"}
    assert container["envFrom"] == [{"secretRef": {"name": "keys"}}]
    (other,) = {DATASET, MODEL} - {step}
    assert not {"env", "envFrom"} & set(objects.only(job_set, other, other))


@rule("4.5-initializer-env", differs=(Deviation.STORAGE_URI,))
def test_a_users_own_storage_uri_holds(unjudged: Place) -> None:
    env = [{"name": "STORAGE_URI", "value": "s3://own/one"}]
    dataset = {"storageUri": "hf://some/where", "env": env}
    runtime = objects.runtime("runtime", *INITIALIZERS)
    unjudged.add(runtime, objects.train_job(initializer={"dataset": dataset}))
    if unjudged.deviates(Deviation.STORAGE_URI):
        unjudged.until_failure("STORAGE_URI")
        unjudged.settle()
        assert unjudged.find("JobSet", "a") == {}
        return
    job_set = unjudged.job_set()
    assert objects.variables(objects.only(job_set, DATASET, DATASET)) == {
        "STORAGE_URI": "s3://own/one"
    }


@rule("4.5-empty-uri")
def test_an_empty_storage_uri_is_set_too(place: Place) -> None:
    env = [{"name": "STORAGE_URI", "value": "hf://of/runtime"}]
    jobs = [objects.initializer(DATASET, env=env), objects.job()]
    runtime = objects.runtime("runtime", *jobs)
    job_set = job_set_of(place, runtime, initializer={"dataset": {"storageUri": ""}})
    (variable,) = objects.only(job_set, DATASET, DATASET)["env"]
    assert (variable["name"], variable.get("value", "")) == ("STORAGE_URI", "")


@rule("4.5-secret-appended", "4.5-no-initializer")
def test_the_secret_comes_after_the_runtimes_own_sources(place: Place) -> None:
    own = [{"configMapRef": {"name": "own"}}]
    jobs = [objects.initializer(step, envFrom=own) for step in (DATASET, MODEL)]
    runtime = objects.runtime("runtime", *jobs, objects.job())
    asked = {"dataset": {"secretRef": {"name": "keys"}}}
    job_set = job_set_of(place, runtime, initializer=asked)
    assert objects.only(job_set, DATASET, DATASET)["envFrom"] == [
        *own,
        {"secretRef": {"name": "keys"}},
    ]
    assert objects.only(job_set, MODEL, MODEL)["envFrom"] == own


@rule("4.5-no-initializer")
def test_without_spec_initializer_those_of_the_runtime_stay(place: Place) -> None:
    env = [{"name": "STORAGE_URI", "value": "hf://of/runtime"}]
    jobs = [objects.initializer(DATASET, env=env), objects.job()]
    job_set = job_set_of(place, objects.runtime("runtime", *jobs))
    assert objects.only(job_set, DATASET, DATASET)["env"] == env


@rule("4.5-trainer-unset")
def test_what_the_trainer_does_not_set_stays(place: Place) -> None:
    runtime = objects.runtime("runtime", objects.job(containers=[RUNTIMES]))
    container = objects.only(job_set_of(place, runtime, trainer={"args": ["one"]}))
    assert (container["image"], container["command"]) == ("example.com/runtime:1", ["run"])
    assert container["args"] == ["one"]


@rule("4.5-trainer-empty")
def test_an_empty_command_replaces_the_runtimes(place: Place) -> None:
    runtime = objects.runtime("runtime", objects.job(containers=[RUNTIMES]))
    container = objects.only(job_set_of(place, runtime, trainer={"command": [], "args": []}))
    assert (container.get("command", []), container.get("args", [])) == ([], [])


@rule("4.5-trainer-env", "5.1-jax-env")
def test_a_users_variable_holds_against_the_frameworks(place: Place) -> None:
    trainer = {"env": [{"name": "JAX_NUM_PROCESSES", "value": "77"}]}
    job_set = job_set_of(place, objects.runtime(policy={"jax": {}}), trainer=trainer)
    variables = objects.variables(objects.only(job_set))
    assert variables["JAX_NUM_PROCESSES"] == "77"
    assert variables["JAX_COORDINATOR_ADDRESS"] == "a-node-0-0.a:29500"


@rule("4.5-launcher-env")
def test_where_the_launcher_is_a_node_the_others_get_variables_too(place: Place) -> None:
    trainer = {"env": [{"name": "MINE", "value": "1"}]}
    runtime = objects.runtime("runtime", *MPI_JOBS, policy=LAUNCHER_AS_NODE)
    job_set = job_set_of(place, runtime, trainer=trainer)
    assert objects.variables(objects.only(job_set, "launcher"))["MINE"] == "1"
    assert objects.variables(objects.only(job_set, "node"))["MINE"] == "1"


@rule("4.5-resources")
def test_resources_are_merged_with_the_runtimes(place: Place) -> None:
    own = {"requests": {"cpu": "1", "memory": "1Gi"}}
    runtime = objects.runtime("runtime", objects.job(containers=[objects.container(resources=own)]))
    asked = {"limits": {"nvidia.com/gpu": "4"}, "requests": {"memory": "2Gi"}}
    job_set = job_set_of(place, runtime, trainer={"resourcesPerNode": asked})
    assert objects.only(job_set)["resources"] == {
        "requests": {"cpu": "1", "memory": "2Gi"},
        "limits": {"nvidia.com/gpu": "4"},
    }


@rule("4.5-gang-labels")
@pytest.mark.parametrize(
    ("gang", "field", "key"),
    [
        ("coscheduling", "labels", "scheduling.x-k8s.io/pod-group"),
        ("volcano", "annotations", "scheduling.k8s.io/group-name"),
    ],
)
def test_the_pods_of_every_job_know_their_gang(
    place: Place, gang: str, field: str, key: str
) -> None:
    jobs = [objects.job("other", None), objects.job()]
    job_set = job_set_of(place, objects.runtime("runtime", *jobs, gang={gang: {}}))
    for each in job_set["spec"]["replicatedJobs"]:
        assert each["template"]["spec"]["template"]["metadata"][field] == {key: "a"}


@rule("4.5-init-container")
def test_a_framework_may_append_an_init_container_and_volumes(place: Place) -> None:
    own = objects.container("own")
    runtime = objects.runtime("runtime", objects.job(initContainers=[own]), policy={"flux": {}})
    trainer = {"numNodes": 1, "command": ["lmp"]}
    pod = objects.pod_spec(job_set_of(place, runtime, trainer=trainer))
    assert [each["name"] for each in pod["initContainers"]] == ["own", "flux-installer"]
    assert {each["name"] for each in pod["volumes"]} >= {"flux-install", "flux-curve"}


@rule("4.5-passed-on")
def test_all_else_of_the_runtime_is_passed_on(place: Place) -> None:
    spec = {
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": ["node"]},
        "failurePolicy": {"maxRestarts": 3},
        "ttlSecondsAfterFinished": 100,
        "coordinator": {"replicatedJob": "node"},
    }
    waits = [{"name": "first", "status": "Complete"}]
    rule_of_pods = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [7]}}
    job = {"backoffLimit": 5, "podFailurePolicy": {"rules": [rule_of_pods]}}
    pod: JSON = {"restartPolicy": "Never", "priorityClassName": "some", "hostNetwork": True}
    jobs = [
        objects.job("first", None),
        objects.job("node", outer={"dependsOn": waits, "groupName": "g"}, job=job, **pod),
    ]
    job_set = job_set_of(place, objects.runtime("runtime", *jobs, **spec))
    for key in ("network", "successPolicy", "ttlSecondsAfterFinished"):
        assert job_set["spec"][key] == spec[key]
    assert job_set["spec"]["failurePolicy"]["maxRestarts"] == 3
    assert job_set["spec"]["coordinator"]["replicatedJob"] == "node"
    node = objects.replicated(job_set)
    assert (node["dependsOn"], node["groupName"]) == (waits, "g")
    assert node["template"]["spec"]["backoffLimit"] == 5
    (passed,) = node["template"]["spec"]["podFailurePolicy"]["rules"]
    assert {**passed, **rule_of_pods} == passed
    assert {key: objects.pod_spec(job_set)[key] for key in pod} == pod
