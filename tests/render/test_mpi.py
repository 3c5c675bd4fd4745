"""MPI beyond the golden folders: counts, slots, hostfile, refusals, and when the keys are written."""

from typing import Any

import pytest

from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.plugins import mpi

GPUS = {"limits": {"nvidia.com/gpu": 4}}


def replicated(name: str, **more: Any) -> dict[str, Any]:
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    container = {"name": "node", "image": "mpi", **more.pop("container", {})}
    return {
        "name": name,
        "template": {
            "metadata": {"labels": labels} if name == "launcher" else {},
            "spec": {"template": {"spec": {"containers": [container]}}},
        },
        **more,
    }


def runtime(policy: dict[str, Any], *jobs: dict[str, Any], nodes: int = 1) -> Any:
    jobs = jobs or (replicated("node"), replicated("launcher"))
    return ClusterTrainingRuntime.from_wire(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "ClusterTrainingRuntime",
            "metadata": {"name": "r"},
            "spec": {
                "mlPolicy": {"numNodes": nodes, "mpi": policy},
                "template": {"spec": {"replicatedJobs": list(jobs)}},
            },
        }
    )


def job(**trainer: Any) -> TrainJob:
    return TrainJob.from_wire(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "tj", "namespace": "n"},
            "spec": {"runtimeRef": {"name": "r"}, "trainer": trainer},
        }
    )


def rendered(on: Any, *, behaviour: Behaviour = OURS, **trainer: Any) -> dict[str, Any]:
    """The objects by kind."""
    objects = pipeline.render(job(**trainer), on, behaviour=behaviour)
    return {each["kind"]: each for each in objects}


def hostfile(on: Any, **trainer: Any) -> list[str]:
    data: dict[str, str] = rendered(on, **trainer)["ConfigMap"]["data"]
    return data["hostfile"].splitlines()


def pods(on: Any, **trainer: Any) -> dict[str, int]:
    jobset = rendered(on, **trainer)["JobSet"]
    return {
        each["name"]: each["template"]["spec"]["completions"]
        for each in jobset["spec"]["replicatedJobs"]
    }


def refusal(on: Any, *, behaviour: Behaviour = OURS, **trainer: Any) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        rendered(on, behaviour=behaviour, **trainer)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("launcher_is_node", "nodes", "expected"),
    [
        (True, 1, {"node": 1, "launcher": 1}),
        (True, 2, {"node": 1, "launcher": 1}),
        (True, 5, {"node": 4, "launcher": 1}),
        (True, 0, {"node": 1, "launcher": 1}),
        (False, 1, {"node": 1, "launcher": 1}),
        (False, 3, {"node": 3, "launcher": 1}),
        (False, 0, {"node": 0, "launcher": 1}),
    ],
)
def test_q5_a_launcher_that_is_a_node_is_one_of_num_nodes_beside_one_node_at_least(
    launcher_is_node: bool, nodes: int, expected: dict[str, int]
) -> None:
    assert pods(runtime({"runLauncherAsNode": launcher_is_node}), numNodes=nodes) == expected


def test_q5_nodes_of_the_runtime_are_launchers() -> None:
    assert pods(runtime({}, nodes=3)) == {"node": 1, "launcher": 3}


@pytest.mark.parametrize(
    ("policy", "trainer", "expected"),
    [
        ({}, {}, 1),
        ({"numProcPerNode": 2}, {}, 2),
        ({"numProcPerNode": 2}, {"numProcPerNode": 8}, 8),
        ({"numProcPerNode": 1}, {"resourcesPerNode": GPUS}, 4),
        ({"numProcPerNode": 2}, {"resourcesPerNode": GPUS}, 2),
        ({"numProcPerNode": 1}, {"resourcesPerNode": GPUS, "numProcPerNode": 1}, 1),
    ],
)
def test_slots_are_the_jobs_processes_else_gpus_where_the_runtime_says_one(
    policy: dict[str, Any], trainer: dict[str, Any], expected: int
) -> None:
    on = runtime({"runLauncherAsNode": True, **policy})
    assert hostfile(on, **trainer) == [
        f"tj-node-0-0.tj slots={expected}",
        f"tj-launcher-0-0.tj slots={expected}",
    ]
    jobset = rendered(on, **trainer)["JobSet"]
    launcher = jobset["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    env = {each["name"]: each["value"] for each in launcher["containers"][0]["env"]}
    assert env["OMPI_MCA_orte_set_default_slots"] == str(expected)


def test_the_hostfile_follows_the_template_with_every_replica() -> None:
    jobs = replicated("launcher"), replicated("node", replicas=2), replicated("extra")
    assert hostfile(runtime({"runLauncherAsNode": True}, *jobs), numNodes=3) == [
        "tj-launcher-0-0.tj slots=1",
        "tj-node-0-0.tj slots=1",
        "tj-node-0-1.tj slots=1",
        "tj-node-1-0.tj slots=1",
        "tj-node-1-1.tj slots=1",
    ]


def test_a_container_of_another_name_is_left_alone() -> None:
    named = {"container": {"name": "main"}}
    jobset = rendered(runtime({}, replicated("node", **named), replicated("launcher")))["JobSet"]
    spec = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert spec["containers"] == [{"name": "main", "image": "mpi"}]
    assert [each["name"] for each in spec["volumes"]] == ["mpi-ssh-auth"]


def test_a_mount_of_the_runtime_at_the_same_path_is_replaced() -> None:
    mounts = [{"name": "old", "mountPath": "/keys"}, {"name": "data", "mountPath": "/data"}]
    node = replicated("node", container={"volumeMounts": mounts})
    jobset = rendered(runtime({"sshAuthMountPath": "/keys"}, node))["JobSet"]
    spec = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": "mpi-ssh-auth", "mountPath": "/keys"},
        {"name": "data", "mountPath": "/data"},
    ]


def test_a_launcher_that_is_a_node_needs_both_jobs_for_two_nodes() -> None:
    on = runtime({"runLauncherAsNode": True}, replicated("launcher"))
    assert refusal(on, numNodes=2) == [
        (
            "TrainJob tj: spec.trainer.numNodes: must have 1 when MPI trainingRuntime with enabled "
            "runLauncherAsNode does not have either launcher and node, got 2"
        )
    ]
    assert rendered(on, numNodes=1)


def test_reserved_variables_are_named_sorted() -> None:
    env = [
        {"name": "OMPI_MCA_plm_rsh_args", "value": "x"},
        {"name": "OMPI_MCA_orte_default_hostfile", "value": "x"},
        {"name": "OMPI_MCA_btl", "value": "tcp"},
    ]
    assert refusal(runtime({}), env=env) == [
        (
            "TrainJob tj: spec.trainer.env: must not have reserved envs, invalid envs configured: "
            "[OMPI_MCA_orte_default_hostfile OMPI_MCA_plm_rsh_args]; remove them: the runtime sets "
            "them for the launcher"
        )
    ]


def test_q5_an_unknown_implementation_is_refused_before_anything_is_made() -> None:
    on = runtime({"mpiImplementation": ""})
    assert refusal(on) == [
        (
            "ClusterTrainingRuntime r: spec.mlPolicy.mpi.mpiImplementation: names no MPI "
            "implementation, got ''; write OpenMPI, or leave the field out"
        )
    ]
    assert refusal(on, behaviour=REFERENCE) == ['MPI implementation for "" doesn\'t supported']


def test_like_the_reference_an_unknown_implementation_without_a_launcher_has_no_hosts() -> None:
    on = runtime({"mpiImplementation": ""}, replicated("node"))
    assert rendered(on, behaviour=REFERENCE)["ConfigMap"]["data"] == {"hostfile": ""}


def test_keys_are_written_once_and_the_hostfile_always() -> None:
    on = runtime({})
    stored = {"kind": "Secret", "metadata": {"name": "tj-mpi-ssh-auth"}}

    def kinds(*objects: dict[str, Any]) -> list[str]:
        observed = ObservedObjects(jobset=None, objects=objects)
        return [each["kind"] for each in pipeline.due_objects(job(), on, observed)]

    assert kinds() == ["Secret", "ConfigMap", "JobSet"]
    assert kinds(stored) == ["ConfigMap", "JobSet"]
    assert kinds({**stored, "metadata": {"name": "other"}}) == ["Secret", "ConfigMap", "JobSet"]


def test_a_stored_job_owns_its_keys_and_hostfile() -> None:
    stored = job()
    metadata = stored.metadata.model_copy(update={"uid": "u"})
    objects = pipeline.render(stored.model_copy(update={"metadata": metadata}), runtime({}))
    owners = [each["metadata"]["ownerReferences"][0]["uid"] for each in objects]
    assert owners == ["u", "u", "u"]


def test_a_job_without_a_trainer_renders() -> None:
    wire = job().to_wire()
    del wire["spec"]["trainer"]
    objects = pipeline.render(TrainJob.from_wire(wire), runtime({}))
    assert objects[1]["data"] == {"hostfile": "tj-node-0-0.tj slots=1\n"}


def test_keys_and_hostfiles_of_trainjobs_wake_them() -> None:
    assert [(each.api_version, each.kind, each.wakes) for each in mpi.PLUGIN.watches] == [
        ("v1", "ConfigMap", None),
        ("v1", "Secret", None),
    ]


@pytest.mark.parametrize(
    ("policy", "pod", "container", "mode"),
    [
        ({}, {}, {}, 0o600),
        ({}, {"runAsUser": 0}, {}, 0o600),
        ({"sshAuthMountPath": "/keys"}, {}, {"runAsUser": 0}, 0o600),
        ({"sshAuthMountPath": "/home/u/.ssh"}, {}, {}, 0o644),
        ({"sshAuthMountPath": "/home/u/.ssh"}, {"runAsUser": 1000}, {}, 0o644),
        ({"sshAuthMountPath": "/home/u/.ssh"}, {"runAsUser": 1000, "fsGroup": 1000}, {}, 0o640),
        ({}, {"runAsUser": 0, "fsGroup": 1000}, {"runAsUser": 1000}, 0o640),
    ],
)
def test_ssh_key_has_a_mode_that_ssh_takes_of_its_user(
    policy: dict[str, Any], pod: dict[str, Any], container: dict[str, Any], mode: int
) -> None:
    jobs = [
        replicated(name, container={"securityContext": container}) for name in ("node", "launcher")
    ]
    for each in jobs:
        each["template"]["spec"]["template"]["spec"]["securityContext"] = pod
    for behaviour, expected in ((OURS, mode), (REFERENCE, 0o640)):
        objects = rendered(runtime(policy, *jobs), behaviour=behaviour)
        for each in objects["JobSet"]["spec"]["replicatedJobs"]:
            (keys, *_) = each["template"]["spec"]["template"]["spec"]["volumes"]
            assert keys["secret"]["items"][0]["mode"] == expected


@pytest.mark.parametrize("is_launcher_a_node", [True, False])
def test_mpi_image_is_that_of_all_nodes(is_launcher_a_node: bool) -> None:
    on = runtime({"runLauncherAsNode": is_launcher_a_node})
    images = {
        behaviour: [
            each["template"]["spec"]["template"]["spec"]["containers"][0]["image"]
            for each in rendered(on, behaviour=behaviour, image="own")["JobSet"]["spec"][
                "replicatedJobs"
            ]
        ]
        for behaviour in (OURS, REFERENCE)
    }
    assert images == {OURS: ["own", "own"], REFERENCE: ["mpi", "own"]}


def test_open_mpi_5_has_the_same_settings_by_its_own_names() -> None:
    def env(behaviour: Behaviour) -> dict[str, str]:
        jobs = rendered(runtime({}), behaviour=behaviour)["JobSet"]["spec"]["replicatedJobs"]
        pods = (each["template"]["spec"]["template"]["spec"] for each in jobs)
        listed = (v for pod in pods for v in pod["containers"][0].get("env", ()))
        return {each["name"]: each["value"] for each in listed}

    ours, reference = env(OURS), env(REFERENCE)
    assert {each for each in ours if each not in reference} == {*mpi.OF_OPEN_MPI_5}
    assert [ours[each] for each in mpi.OF_OPEN_MPI_5] == [ours[each] for each in mpi.RESERVED]


@pytest.mark.parametrize("nodes", [mpi.MOST_HOSTS + 1, 2**31 - 1])
def test_a_hostfile_that_no_config_map_holds_is_refused(nodes: int) -> None:
    with pytest.raises(InvalidInput, match=rf"numNodes: makes a hostfile of {nodes} lines"):
        rendered(runtime({}), numNodes=nodes)


@pytest.mark.parametrize(
    ("trainer", "listed", "warned"),
    [
        ({"command": ["mpirun", "python", "t.py"]}, "A;B", ""),
        ({"command": ["sh", "-c", "cd /app && mpirun python t.py"]}, "A;B", ""),
        ({"command": ["mpirun"], "args": ["-np", "1", "python", "t.py"]}, "A;B", ""),
        ({"command": ["mpirun", "-x", "A", "-x", "B", "python", "t.py"]}, None, ""),
        ({"command": ["mpirun", "-x", "A=1", "python", "t.py"]}, None, "no B; write -x B after"),
        ({"command": ["bash", "/opt/start.sh"]}, None, "no A and no B; write -x A -x B after"),
    ],
    ids=["mpirun", "shell", "args", "all by -x", "one by -x", "script"],
)
def test_mpi_env_reaches_the_ranks(trainer: dict[str, Any], listed: Any, warned: str) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"secretKeyRef": {"key": "k"}}}]
    given, on = {"env": env, **trainer}, runtime({})
    for behaviour, expected in ((OURS, listed), (REFERENCE, None)):
        jobs = rendered(on, behaviour=behaviour, **given)["JobSet"]["spec"]["replicatedJobs"]
        pods = {each["name"]: each["template"]["spec"]["template"]["spec"] for each in jobs}
        found = {
            each["name"]: each.get("value") for each in pods["launcher"]["containers"][0]["env"]
        }
        assert found.get("OMPI_MCA_mca_base_env_list") == expected
        assert "A" in found
    said = pipeline.rendering_warnings(job(**given), on)
    assert [warned in each for each in said] == ([True] if warned else [])


@pytest.mark.parametrize(
    ("context", "is_told"),
    [
        ({"fsGroup": 1000}, True),
        ({"runAsUser": 0, "fsGroup": 0}, True),
        ({"runAsUser": 1000, "fsGroup": 1000}, False),
        ({}, False),
    ],
)
def test_a_key_that_ssh_ignores_whatever_its_mode_is_told(
    context: dict[str, Any], is_told: bool
) -> None:
    """The kubelet gives each file of a pod with fsGroup to that group, and lets it read."""
    jobs = [replicated(name) for name in ("node", "launcher")]
    for each in jobs:
        each["template"]["spec"]["template"]["spec"]["securityContext"] = context
    said = pipeline.rendering_warnings(job(command=["mpirun", "t"]), runtime({}, *jobs))
    told = [each.partition(":")[0] for each in said if "ssh ignores such a key" in each]
    assert told == (["job node", "job launcher"] if is_told else [])
