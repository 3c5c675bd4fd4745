"""Every name that only the v1 operators make is renamed, or there is a note with its path."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.migrate.jobs import container_of, env_of, jobs_of, migrated, notes, pod, spec_of, v1
from trainer_infra.json_values import json_leaves
from trainer_infra.migrate import renaming, v1_job
from trainer_infra.render import pipeline

WRITTEN: Final = tuple(yaml.safe_load_all(Path(__file__).with_name("v1_jobs.yaml").read_text()))
JOBSET, JOB = "jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/replicatedjob-name"
INDEX = "batch.kubernetes.io/job-completion-index"
LABEL = "training.kubeflow.org/"
JOBS = {"Launcher": "launcher", "Worker": "node", "Master": "node"}


def of_names(value: Any) -> Any:
    """Lists of named items as mappings."""
    if isinstance(value, list) and value and all("name" in each for each in map(as_map, value)):
        return {each["name"]: of_names(each) for each in value}
    if isinstance(value, list):
        return {index: of_names(each) for index, each in enumerate(value)}
    return (
        {key: of_names(each) for key, each in value.items()} if isinstance(value, dict) else value
    )


def as_map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def path_of_names(value: Any, path: tuple[Any, ...]) -> tuple[Any, ...]:
    """A path with names in the place of indices."""
    found: list[Any] = []
    for key in path:
        there = value[key] if not isinstance(value, str) and _has(value, key) else {}
        found.append(there["name"] if isinstance(key, int) and "name" in as_map(there) else key)
        value = there
    return tuple(found)


def _has(value: Any, key: Any) -> bool:
    return key < len(value) if isinstance(value, list) and isinstance(key, int) else key in value


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = as_map(value).get(key)
    return value


def rendered_pods(job: dict[str, Any]) -> dict[str, Any]:
    """The pod templates of the rendered JobSet, by the name of their job."""
    result = migrated(job)
    job_set = pipeline.render(result.train_job, result.runtime)[-1]
    found = job_set["spec"]["replicatedJobs"]
    return {each["name"]: each["template"]["spec"]["template"] for each in found}


def v1_pods(job: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and template of the replica types whose templates are kept."""
    (field,) = (each for each in job["spec"] if each.endswith("ReplicaSpecs"))
    for kind, replica in job["spec"][field].items():
        if kind != "Master" or "Worker" not in job["spec"][field]:
            yield kind, replica["template"]


@pytest.mark.parametrize("job", WRITTEN, ids=lambda each: each["metadata"]["name"])
def test_every_field_of_the_pods_is_there_or_renamed_or_noted(job: dict[str, Any]) -> None:
    name, result = job["metadata"]["name"], migrated(job)
    old = re.compile(
        rf"training.kubeflow.org/|pytorch-|metadata.labels|{name}-|ssh-auth|mpi-job-|ClusterFirst|"
        r"job-name|replica-index|PET_RDZV_ID"
    )
    noted = [path_of_names(job, note.path) for note in result.notes]
    pods = rendered_pods(job)
    (field,) = (each for each in job["spec"] if each.endswith("ReplicaSpecs"))
    for kind, template in v1_pods(job):
        main = next(
            (each["name"] for each in template["spec"]["containers"] if each["name"] in MAIN),
            template["spec"]["containers"][0]["name"],
        )
        new = of_names(pods[JOBS[kind]])
        for path, value in json_leaves(of_names(template)):
            there = tuple("node" if key == main else key for key in path)
            whole = ("spec", field, kind, "template", *path)
            if at(new, there) in (value, "node") or path == ("spec", "restartPolicy"):
                continue
            if value is None:
                continue
            if any(whole[: len(each)] == each for each in noted):
                continue
            assert old.search(f"{path} {value}"), (path, value, at(new, there))


MAIN = ("pytorch", "xgboost", "jax", "mpi")


@pytest.mark.parametrize("job", WRITTEN, ids=lambda each: each["metadata"]["name"])
def test_no_name_of_v1_is_left_without_a_note(job: dict[str, Any]) -> None:
    name, result = job["metadata"]["name"], migrated(job)
    old = re.compile(
        rf"training.kubeflow.org/|(?<![\w-]){name}-(master|worker|launcher(?!-\d)|ssh|config)|"
        r"\bssh-auth(?<!mpi-ssh-auth)|mpi-job-|pytorch-(job|replica)"
    )
    told = " ".join(str(note.value) for note in result.notes)
    for path, value in json_leaves(rendered_pods(job)):
        if old.search(f"{value} {path[-1]}") and path[-2] != "labels":
            assert str(value) in told, (path, value)


def test_what_an_mpi_operator_mounts_has_the_names_of_trainer() -> None:
    pods = rendered_pods(WRITTEN[0])
    volumes = {each["name"]: each for each in pods["launcher"]["spec"]["volumes"]}
    assert volumes.keys() == {"mpi-ssh-auth", "mpi-hostfile"}
    (wait,) = pods["launcher"]["spec"]["initContainers"]
    assert [each["name"] for each in wait["volumeMounts"]] == ["mpi-ssh-auth", "mpi-hostfile"]
    assert pods["node"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
    found = str(rendered_pods(WRITTEN[1])["launcher"])
    assert "shared-keys-mpi-ssh-auth" in found
    assert "shared-keys-mpi-hostfile" in found
    assert "shared-keys-ssh" not in found
    assert "shared-keys-config" not in found


HOSTS = {
    "j-master-0": "j-node-0-0.j",
    "j-worker-0:29500": "j-node-0-1.j:29500",
    "tcp://j-worker-11.n.svc.cluster.local:1": "tcp://j-node-0-12.j.n.svc.cluster.local:1",
    "j-master-0,j-worker-0": "j-node-0-0.j,j-node-0-1.j",
    "--addr=j-master-0.n": "--addr=j-node-0-0.j.n",
    "j-master-0x": "j-master-0x",
    "x-j-master-0": "x-j-master-0",
    "[ $(hostname) = j-master-0 ]": "[ $(hostname) = j-master-0 ]",
    "ping j-worker-$i": "ping j-worker-$i",
    "$(JOB_NAME)-master-0": "$(JOB_NAME)-master-0",
    "ping ${JOB}-worker-0": "ping ${JOB}-worker-0",
    "j-worker-0-cache": "j-worker-0-cache",
}


OTHERS = ("j-master-0x", "x-j-master-0", "j-worker-0-cache")
"""Names of something else."""


@pytest.mark.parametrize("old", HOSTS)
def test_host_names_with_a_number_are_renamed(old: str) -> None:
    replica = {"replicas": 1, "template": pod("pytorch", command=["run"], args=[old])}
    job = v1("PyTorchJob", Master=replica, Worker={**replica, "replicas": 12})
    assert spec_of(job)["trainer"]["args"] == [HOSTS[old]]
    told = [each for each in notes(job) if "args[0]" in each]
    assert bool(told) == (HOSTS[old] == old and old not in OTHERS)


def test_hosts_of_mpi_keep_their_numbers() -> None:
    env = [{"name": "H", "value": "j-launcher.j.n.svc,j-worker-1.j-worker"}]
    launcher = {"template": pod("m", command=["mpirun"], env=env)}
    job = v1("MPIJob", "v2beta1", Launcher=launcher, Worker=2)
    assert env_of(job, "launcher")["H"] == "j-launcher-0-0.j.n.svc,j-node-0-1.j"
    assert notes(job) == []


def selected(labels: dict[str, str], **replicas: Any) -> tuple[Any, list[str]]:
    """What labels become in a pod's affinity, and the notes on them."""
    kind = "MPIJob" if "Launcher" in replicas else "PyTorchJob"
    template = pod("x", command=["c"])
    terms = [{"topologyKey": "t", "labelSelector": {"matchLabels": labels}}]
    template["spec"]["affinity"] = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    }
    worker = {"replicas": 2, "restartPolicy": "Never", "template": template}
    job = v1(kind, "v2beta1" if kind == "MPIJob" else "v1", Worker=worker, **replicas)
    affinity = jobs_of(job)["node"]["template"]["spec"]["affinity"]["podAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    return term["labelSelector"]["matchLabels"], [each for each in notes(job) if "Labels" in each]


SELECTORS = (
    ({"job-name": "j"}, {JOBSET: "j"}, False),
    ({"replica-type": "worker"}, {JOB: "node"}, True),
    ({"replica-type": "master"}, {JOB: "node", INDEX: "0"}, False),
    ({"job-role": "master"}, {JOB: "node", INDEX: "0"}, False),
    ({"replica-type": "worker", "replica-index": "1"}, {JOB: "node", INDEX: "2"}, True),
    ({"replica-type": "master", "replica-index": "0"}, {JOB: "node", INDEX: "0"}, False),
    ({"replica-index": "1"}, {INDEX: "1"}, True),
    ({"job-name": "j", "operator-name": "pytorchjob-controller"}, {JOBSET: "j"}, False),
    ({"operator-name": "x"}, {f"{LABEL}operator-name": "x"}, True),
)


@pytest.mark.parametrize(("old", "new", "is_noted"), SELECTORS)
def test_selectors_by_labels_of_v1(
    old: dict[str, str], new: dict[str, str], *, is_noted: bool
) -> None:
    master = {"replicas": 1, "template": pod("x", command=["c"])}
    found, told = selected({f"{LABEL}{key}": each for key, each in old.items()}, Master=master)
    assert found == new
    assert bool(told) is is_noted


def test_selectors_of_mpi_and_of_workers_alone_are_exact() -> None:
    labels = {f"{LABEL}job-name": "j", f"{LABEL}job-role": "worker"}
    assert selected(labels, Launcher=1) == ({JOBSET: "j", JOB: "node"}, [])
    assert selected({f"{LABEL}replica-type": "worker"}) == ({JOB: "node"}, [])
    assert selected({"app": "x", "job-name": "other"}) == ({"app": "x", "job-name": "other"}, [])


FIELDS = (
    ("job-name", {"valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{JOBSET}']"}}}),
    ("replica-type", {"value": "worker"}),
    ("operator-name", {"value": "pytorchjob-controller"}),
    (
        "replica-index",
        {"valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{INDEX}']"}}},
    ),
)


@pytest.mark.parametrize(("label", "made"), FIELDS)
def test_variables_of_labels(label: str, made: dict[str, Any]) -> None:
    field = {"fieldRef": {"fieldPath": f"metadata.labels['{LABEL}{label}']"}}
    template = pod("pytorch", command=["c"], env=[{"name": "V", "valueFrom": field}])
    worker = {"replicas": 2, "restartPolicy": "Never", "template": template}
    job = v1("PyTorchJob", Worker=worker)
    assert container_of(job)["env"][0] == {"name": "V", **made}
    assert notes(job) == []


BESIDE: tuple[tuple[Any, Any, list[str]], ...] = (
    (
        {"kind": "Service", "spec": {"selector": {f"{LABEL}job-name": "j"}}},
        {"kind": "Service", "spec": {"selector": {JOBSET: "j"}}},
        [],
    ),
    (
        {"kind": "PodMonitor", "spec": {"selector": {"matchLabels": {f"{LABEL}job-name": "j"}}}},
        {"kind": "PodMonitor", "spec": {"selector": {"matchLabels": {JOBSET: "j"}}}},
        [],
    ),
    (
        {
            "kind": "ServiceMonitor",
            "spec": {"selector": {"matchLabels": {f"{LABEL}job-name": "j"}}},
        },
        {"kind": "ServiceMonitor", "spec": {"selector": {"matchLabels": {JOBSET: "j"}}}},
        ["kind"],
    ),
    (
        {"kind": "ConfigMap", "data": {"run.sh": "ping j-worker-0"}},
        {"kind": "ConfigMap", "data": {"run.sh": "ping j-node-0-1.j"}},
        [],
    ),
    (
        {"kind": "Service", "metadata": {"name": "j-master-0"}},
        {"kind": "Service", "metadata": {"name": "j-master-0"}},
        ["metadata.name"],
    ),
    (
        {"kind": "HorizontalPodAutoscaler", "spec": {"scaleTargetRef": {"kind": "PyTorchJob"}}},
        {"kind": "HorizontalPodAutoscaler", "spec": {"scaleTargetRef": {"kind": "PyTorchJob"}}},
        ["spec.scaleTargetRef.kind"],
    ),
    (
        {"kind": "Role", "rules": [{"resources": ["pytorchjobs", "pods"]}]},
        {"kind": "Role", "rules": [{"resources": ["pytorchjobs", "pods"]}]},
        ["rules[0].resources[0]"],
    ),
    (
        {"kind": "Deployment", "spec": {"selector": {"matchLabels": {"app": "web"}}}},
        {"kind": "Deployment", "spec": {"selector": {"matchLabels": {"app": "web"}}}},
        [],
    ),
)


@pytest.mark.parametrize(("value", "made", "noted"), BESIDE)
def test_objects_beside_a_job(value: Any, made: Any, noted: list[str]) -> None:
    job = v1_job(v1("PyTorchJob", Master=1, Worker=2))
    found = renaming.in_object([job], value)
    assert found.value == made
    assert [str(note).partition(": ")[0] for note in found.notes] == noted


def test_numbers_of_pods_are_counted_from_those_of_the_job_that_an_object_names() -> None:
    jobs = [v1("PyTorchJob", Worker=2), v1("PyTorchJob", Master=1, Worker=2)]
    jobs[0]["metadata"]["name"], jobs[1]["metadata"]["name"] = "a", "vision"
    labels = {"job-name": "vision", "replica-type": "worker", "replica-index": "0"}
    service = {"spec": {"selector": {f"{LABEL}{key}": each for key, each in labels.items()}}}
    found = renaming.in_object([*map(v1_job, jobs)], service)
    assert found.value["spec"]["selector"] == {JOBSET: "vision", JOB: "node", INDEX: "1"}


def test_a_selector_of_another_form_is_left_as_it_is() -> None:
    others = ({"matchExpressions": ["a"]}, {"matchLabelKeys": [{"a": 1}]}, {"valueFrom": "a"})
    for part in others:
        found = renaming.in_object([v1_job(v1("JAXJob", Worker=1))], {"spec": part})
        assert (found.value, found.notes) == ({"spec": part}, ())


EXPRESSIONS: tuple[tuple[str, str, list[str], str, list[str], bool], ...] = (
    ("replica-type", "In", ["worker", "master"], JOB, ["node"], False),
    ("replica-type", "NotIn", ["master"], INDEX, ["0"], False),
    ("replica-type", "In", ["other"], f"{LABEL}replica-type", ["other"], True),
    ("job-role", "In", ["Master"], INDEX, ["0"], False),
    ("replica-index", "In", ["1"], INDEX, ["1"], True),
    ("job-name", "In", ["worker"], JOBSET, ["worker"], False),
)


def test_expressions_are_read_as_labels_are() -> None:
    jobs = [v1_job(v1("PyTorchJob", Master=1, Worker=2))]
    for label, operator, values, key, made, is_noted in EXPRESSIONS:
        each = {"key": f"{LABEL}{label}", "operator": operator, "values": values}
        found = renaming.in_object(jobs, {"spec": {"matchExpressions": [each]}})
        changed = {"key": key, "operator": operator, "values": made}
        assert found.value == {"spec": {"matchExpressions": [changed]}}
        assert bool(found.notes) is is_noted


def test_hosts_of_another_job_are_renamed_or_noted() -> None:
    jobs = [v1_job(v1("PyTorchJob", Master=1, Worker=2))]
    found = renaming.of_others(jobs, {"args": ["--peer=j-worker-0:1", "j-worker-$i"], "n": 1})
    assert found.value == {"args": ["--peer=j-node-0-1.j:1", "j-worker-$i"], "n": 1}
    assert [str(note).partition(": ")[0] for note in found.notes] == ["args[1]"]


def test_replica_types_are_taken_in_any_case() -> None:
    assert spec_of(v1("PyTorchJob", master=1, worker=2))["trainer"]["numNodes"] == 3


def test_what_jobs_write_themselves_is_lost() -> None:
    template = pod("jax", command=["c"])
    template["metadata"] = {"labels": {"job-name": "mine", "app": "x"}}
    template["spec"] |= {"hostname": "h", "subdomain": "s"}
    job = v1("JAXJob", Worker={"replicas": 1, "template": template})
    made = jobs_of(job)["node"]["template"]
    assert made["metadata"]["labels"] == {"app": "x"}
    assert not {"hostname", "subdomain"} & {*made["spec"]}
    lost = [each for each in notes(job) if "write it themselves" in each]
    path = "spec.jaxReplicaSpecs.Worker.template"
    assert [each.partition(": ")[0] for each in lost] == [
        f"{path}.metadata.labels.job-name",
        f"{path}.spec.hostname",
        f"{path}.spec.subdomain",
    ]
