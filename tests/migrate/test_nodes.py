"""PyTorchJob, XGBoostJob and JAXJob become numbered nodes that find what v1 told them."""

from typing import Any

import pytest

from tests.migrate.jobs import (
    RANK,
    container_of,
    env_of,
    jobs_of,
    migrated,
    notes,
    pod,
    refusal,
    runtime_of,
    spec_of,
    v1,
)
from trainer_infra.migrate.replica import ONE_COMMAND
from trainer_infra.render import pipeline


def told(job: dict[str, Any]) -> list[str]:
    """The notes but for that on restarts, which PyTorchJobs without a restart policy have."""
    return [each for each in notes(job) if "restarts without end" not in each]


def test_a_pytorch_job_becomes_a_runtime_and_a_train_job_of_its_name() -> None:
    job = v1("PyTorchJob", Master=1, Worker=2)
    job["metadata"] |= {"labels": {"a": "b"}, "annotations": {"c": "d"}, "uid": "u"}
    result = migrated(job)
    assert result.train_job.to_wire() == {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {
            "name": "j",
            "namespace": "n",
            "labels": {"a": "b"},
            "annotations": {"c": "d"},
        },
        "spec": {
            "runtimeRef": {"kind": "TrainingRuntime", "name": "j"},
            "trainer": {"numNodes": 3, "command": ["python", "t.py"]},
        },
    }
    runtime = result.runtime.to_wire()
    assert runtime["metadata"] == {
        "name": "j",
        "namespace": "n",
        "labels": {"trainer.kubeflow.org/framework": "torch"},
    }
    assert runtime["spec"]["mlPolicy"] == {"numNodes": 1, "torch": {}}
    (replicated,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    assert replicated["template"]["metadata"] == {
        "labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    }
    assert replicated["template"]["spec"]["backoffLimit"] == 6
    assert replicated["template"]["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"


def test_a_program_that_torchrun_does_not_start_gets_the_variables_of_v1() -> None:
    job = v1("PyTorchJob", spec={"nprocPerNode": "2"}, Master=1, Worker=2)
    assert env_of(job) == {
        "PYTHONUNBUFFERED": "1",
        "MASTER_ADDR": "j-node-0-0.j",
        "MASTER_PORT": "23456",
        "WORLD_SIZE": "6",
        "RANK": RANK,
    }
    assert spec_of(job)["trainer"]["numProcPerNode"] == 2
    assert told(job) == [
        (
            "spec.pytorchReplicaSpecs: {'Master': 1, 'Worker': 2}: WORLD_SIZE=6 is written into the "
            "runtime: change it together with trainer.numNodes"
        )
    ]


def test_a_program_that_torchrun_starts_gets_its_own_variables_from_v2() -> None:
    replica = {"replicas": 1, "template": pod("pytorch", command=["torchrun", "t.py"])}
    job = v1("PyTorchJob", Master=replica, Worker={**replica, "replicas": 3})
    assert env_of(job) == {"PYTHONUNBUFFERED": "1"}
    assert told(job) == []
    result = migrated(job)
    job_set = pipeline.render(result.train_job, result.runtime)[-1]
    pods = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]
    env = {each["name"]: each.get("value") for each in _env(pods)}
    assert (pods["parallelism"], env["PET_NNODES"]) == (4, "4")
    assert env["PET_MASTER_ADDR"] == "j-node-0-0.j"


WRITTEN = {"MASTER_ADDR": "j-node-0-0.j", "MASTER_PORT": "23456", "WORLD_SIZE": "4", "RANK": RANK}
COMMANDS = {
    "of the shell": (
        (
            "torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK --master_addr ${MASTER_ADDR} "
            "--master_port=${MASTER_PORT:-1} t.py"
        ),
        set(WRITTEN),
    ),
    "of Kubernetes": (
        "torchrun --node_rank=$(RANK) --master_addr=$(MASTER_ADDR) t.py",
        {"RANK", "MASTER_ADDR"},
    ),
    "of Python": (
        "python -m torch.distributed.run --node_rank=`python -c 'import os; print(os.environ[\"RANK\"])'` t",
        {"RANK"},
    ),
    "of other names": (
        "torchrun --node_rank=$NODE_RANK --x=$MY_WORLD_SIZE $LOCAL_RANK t.py",
        set(),
    ),
    "by accelerate": ("accelerate launch --machine_rank $RANK t.py", set(WRITTEN)),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_variables_that_a_command_reads_before_torchrun_writes_them(command: str) -> None:
    text, read = COMMANDS[command]
    for given in ({"command": text.split(" ")}, {"command": ["bash", "-c"], "args": [text]}):
        replica = {"replicas": 1, "template": pod("pytorch", **given)}
        job = v1("PyTorchJob", Master=replica, Worker={**replica, "replicas": 3})
        found = env_of(job)
        assert found == {
            "PYTHONUNBUFFERED": "1",
            **{name: WRITTEN[name] for name in WRITTEN if name in read},
        }
        assert any("WORLD_SIZE=4" in note for note in notes(job)) == ("WORLD_SIZE" in read)


def test_what_the_master_alone_runs_is_told_whole() -> None:
    args = [f"--option-{number}={'x' * 20}" for number in range(20)]
    master = {"replicas": 1, "template": pod("xgboost", args=args)}
    worker = {"replicas": 1, "template": pod("xgboost", args=["--a"])}
    (note, _) = notes(v1("XGBoostJob", Master=master, Worker=worker))
    assert note == (
        f"spec.xgbReplicaSpecs.Master.template.spec.containers.xgboost.args: {args}: differs from "
        "Worker's and is lost: all nodes are alike, and node 0 is the master; write one command for "
        "all nodes, in which RANK 0 does what is its alone"
    )


@pytest.mark.parametrize(
    ("command", "args", "wanted"),
    [
        (
            ["torchrun"],
            ["t.py", "x"],
            {"command": ["torchrun", "--nnodes=2:4"], "args": ["t.py", "x"]},
        ),
        (
            ["python", "-m", "torch.distributed.run", "t.py"],
            None,
            {"command": ["python", "-m", "torch.distributed.run", "--nnodes=2:4", "t.py"]},
        ),
        (None, ["torchrun", "t.py"], {"args": ["torchrun", "--nnodes=2:4", "t.py"]}),
    ],
)
def test_the_least_of_an_elastic_job_goes_into_the_words_of_torchrun(
    command: list[str] | None, args: list[str] | None, wanted: dict[str, list[str]]
) -> None:
    words = {key: each for key, each in (("command", command), ("args", args)) if each}
    policy = {"minReplicas": 2, "maxReplicas": 4}
    worker = {"replicas": 4, "template": pod("pytorch", **words)}
    job = v1("PyTorchJob", spec={"elasticPolicy": policy}, Worker=worker)
    trainer = spec_of(job)["trainer"]
    assert {key: trainer[key] for key in wanted} == wanted
    assert trainer["numNodes"] == 4
    assert told(job) == []


@pytest.mark.parametrize(
    ("words", "policy"),
    [
        (["sh", "-c", "torchrun t.py"], {"minReplicas": 2}),
        (["torchrun", "--nnodes=3", "t.py"], {"minReplicas": 2}),
        (["torchrun", "t.py"], {"minReplicas": 2, "rdzvBackend": "static"}),
        (["torchrun", "t.py"], {"minReplicas": 5}),
    ],
)
def test_a_least_that_cannot_go_there_is_told(words: list[str], policy: dict[str, object]) -> None:
    worker = {"replicas": 4, "template": pod("pytorch", command=words)}
    job = v1("PyTorchJob", spec={"elasticPolicy": policy}, Worker=worker)
    assert spec_of(job)["trainer"]["command"] == words
    (said,) = told(job)
    assert said.startswith("spec.elasticPolicy.minReplicas: ")
    assert "write --nnodes=LEAST:NODES after torchrun" in said


def test_an_elastic_job_keeps_its_rendezvous_and_loses_its_range() -> None:
    policy = {
        "minReplicas": 1,
        "maxReplicas": 4,
        "rdzvPort": 7,
        "rdzvId": "x",
        "rdzvConf": [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}],
        "nProcPerNode": 3,
        "maxRestarts": 9,
        "metrics": [{"type": "Resource"}],
    }
    job = v1("PyTorchJob", spec={"elasticPolicy": policy}, Worker=2)
    assert env_of(job) == {
        "PYTHONUNBUFFERED": "1",
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": "j-node-0-0.j:7",
        "PET_RDZV_ID": "x",
        "PET_RDZV_CONF": "a=1,b=2",
        "PET_MAX_RESTARTS": "9",
    }
    assert spec_of(job)["trainer"]["numProcPerNode"] == 3
    fixed = "is lost: the number of nodes is fixed, change it with trainer.numNodes"
    assert told(job) == [
        (
            "spec.elasticPolicy.minReplicas: 1: is lost: write --nnodes=LEAST:NODES after torchrun, where the "
            "command starts it"
        ),
        f"spec.elasticPolicy.maxReplicas: 4: {fixed}",
        (
            "spec.elasticPolicy.metrics: [{'type': 'Resource'}]: is lost: v2 does not scale a "
            "running job"
        ),
    ]


def test_processes_per_node_that_are_no_number_are_told() -> None:
    assert told(v1("PyTorchJob", spec={"nprocPerNode": "auto"}, Worker=1)) == []
    assert told(v1("PyTorchJob", spec={"nprocPerNode": "cpu"}, Worker=1)) == [
        (
            "spec.nprocPerNode: 'cpu': is lost: v2 counts the GPUs that a node asks for, without any "
            "its processors; set trainer.numProcPerNode for another"
        )
    ]


def test_an_xgboost_job_starts_its_own_tracker_and_finds_its_workers() -> None:
    port = {"name": "xgboostjob-port", "containerPort": 9991}
    replica = {"replicas": 1, "template": pod("xgboost", ports=[port])}
    job = v1("XGBoostJob", Master=replica, Worker={**replica, "replicas": 2})
    assert env_of(job) == {
        "MASTER_PORT": "9991",
        "MASTER_ADDR": "j-node-0-0.j",
        "WORLD_SIZE": "3",
        "RANK": RANK,
        "PYTHONUNBUFFERED": "1",
        "WORKER_PORT": "9991",
        "WORKER_ADDRS": "j-node-0-1.j,j-node-0-2.j",
    }
    assert runtime_of(job)["mlPolicy"] == {"numNodes": 1, "xgboost": {}}
    assert container_of(job)["ports"] == [port]


def test_a_jax_job_finds_its_coordinator() -> None:
    job = v1("JAXJob", Worker=2)
    assert env_of(job) == {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_PORT": "6666",
        "COORDINATOR_ADDRESS": "j-node-0-0.j",
        "NUM_PROCESSES": "2",
        "PROCESS_ID": RANK,
    }
    assert runtime_of(job)["mlPolicy"] == {"numNodes": 1, "jax": {}}
    assert spec_of(job)["trainer"]["numNodes"] == 2


def test_everything_of_the_pods_is_kept_but_the_name_of_the_container_that_trains() -> None:
    own = [{"name": "A", "value": "1"}, {"name": "RANK", "value": "user's"}]
    template = {
        "metadata": {"labels": {"x": "y"}, "creationTimestamp": None},
        "spec": {
            "containers": [
                {"name": "log", "image": "l"},
                {"name": "pytorch", "image": "i", "env": own, "workingDir": "/w"},
            ],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "nodeSelector": {"gpu": "yes"},
            "restartPolicy": "Always",
        },
    }
    job = v1("PyTorchJob", Master={"replicas": 1, "restartPolicy": "Never", "template": template})
    spec = jobs_of(job)["node"]
    made = spec["template"]
    (_, node) = made["spec"]["containers"]
    assert made["metadata"] == {"labels": {"x": "y"}}
    assert (node["name"], node["workingDir"], node["env"][0]) == ("node", "/w", own[0])
    assert [each["name"] for each in node["env"]].count("RANK") == 1
    assert made["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]
    assert made["spec"]["nodeSelector"] == {"gpu": "yes"}
    assert (made["spec"]["restartPolicy"], spec["backoffLimit"]) == ("Never", 0)


def test_the_workers_template_is_kept_and_every_difference_of_the_masters_is_told() -> None:
    master = pod("xgboost", args=["--role=master"], env=[{"name": "A", "value": "1"}])
    worker = pod("xgboost", args=["--role=worker"], env=[{"name": "B", "value": "2"}])
    job = v1(
        "XGBoostJob",
        Master={"replicas": 1, "template": master, "restartPolicy": "OnFailure"},
        Worker={"replicas": 1, "template": worker},
    )
    assert spec_of(job)["trainer"]["args"] == ["--role=worker"]
    lost = "differs from Worker's and is lost: all nodes are alike, and node 0 is the master"
    path = "spec.xgbReplicaSpecs.Master"
    container = f"{path}.template.spec.containers.xgboost"
    assert notes(job)[:4] == [
        f"{path}.restartPolicy: 'OnFailure': {lost}",
        f"{container}.args: ['--role=master']: {lost}; {ONE_COMMAND}",
        f"{container}.env.A: {{'name': 'A', 'value': '1'}}: {lost}",
        f"{container}.env.B: 'not set': {lost}",
    ]


def test_a_text_that_names_a_v1_pod_is_told() -> None:
    env = [{"name": "H", "value": "tcp://j-master-0:1"}, {"name": "I", "value": "xj-master-0"}]
    replica = {"replicas": 1, "template": pod("jax", env=env)}
    (note, _) = notes(v1("JAXJob", Worker=replica))
    assert note == (
        "spec.jaxReplicaSpecs.Worker.template.spec.containers[0].env[0].value: "
        "'tcp://j-master-0:1': names a v1 pod; the pods of v2 are j-node-0-0.j and so on"
    )


@pytest.mark.parametrize(
    ("policy", "limit", "expected"),
    [
        ("Never", 3, ("Never", 0, False)),
        ("OnFailure", None, ("OnFailure", 6, False)),
        ("OnFailure", 3, ("OnFailure", 3, False)),
        ("Always", 3, ("OnFailure", 3, False)),
        ("ExitCode", 3, ("Never", 3, True)),
    ],
)
def test_what_each_restart_policy_becomes(policy: str, limit: int | None, expected: Any) -> None:
    replica = {"replicas": 1, "template": pod("jax"), "restartPolicy": policy}
    run_policy = {} if limit is None else {"backoffLimit": limit}
    spec = jobs_of(v1("JAXJob", spec={"runPolicy": run_policy}, Worker=replica))["node"]
    restart = spec["template"]["spec"]["restartPolicy"]
    assert (restart, spec["backoffLimit"], "podFailurePolicy" in spec) == expected


def test_exit_codes_below_128_end_the_job_and_others_count() -> None:
    replica = {"replicas": 1, "template": pod("jax"), "restartPolicy": "ExitCode"}
    (rule,) = jobs_of(v1("JAXJob", Worker=replica))["node"]["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert rule["onExitCodes"]["values"] == list(range(1, 128))
    assert rule["onExitCodes"]["containerName"] == "node"


def test_restarts_that_are_no_longer_endless_are_told() -> None:
    replica = {"replicas": 1, "template": pod("jax"), "restartPolicy": "Always"}
    path = "spec.jaxReplicaSpecs.Worker.restartPolicy: 'Always'"
    assert notes(v1("JAXJob", Worker=replica))[:2] == [
        f"{path}: becomes OnFailure: a pod that ends with 0 is done",
        (
            f"{path}: restarts without end in v1, 6 times here: change backoffLimit of the "
            "runtime's job"
        ),
    ]


def test_the_default_restart_policy_is_told_as_a_written_one_is() -> None:
    path = "spec.pytorchReplicaSpecs.Worker.restartPolicy: 'OnFailure'"
    why = "restarts without end in v1, 6 times here: change backoffLimit of the runtime's job"
    assert notes(v1("PyTorchJob", Worker=2)) == [f"{path}: {why}"]
    assert notes(v1("PyTorchJob", spec={"runPolicy": {"backoffLimit": 3}}, Worker=2)) == []


def test_what_v2_fills_is_lost_but_for_the_number_of_processes() -> None:
    env = [
        {"name": name, "value": "2"}
        for name in ("PET_NPROC_PER_NODE", "PET_NNODES", "PET_RDZV_ID", "PET_MASTER_PORT")
    ]
    template = pod("pytorch", command=["torchrun", "t.py"], env=env)
    worker = {"replicas": 2, "restartPolicy": "Never", "template": template}
    job = v1("PyTorchJob", Worker=worker)
    assert spec_of(job)["trainer"]["numProcPerNode"] == 2
    assert env_of(job) == {"PET_RDZV_ID": "2", "PYTHONUNBUFFERED": "1"}
    assert [each.partition(": ")[2] for each in notes(job)] == [
        (
            "'2': becomes trainer.numProcPerNode: operators before v1.7 took it, and later ones "
            "wrote nprocPerNode over it"
        ),
        "'2': is lost: v2 fills PET_NNODES itself",
        "'2': is lost: v2 fills PET_MASTER_PORT itself",
    ]
    written = v1("PyTorchJob", spec={"nprocPerNode": "4"}, Worker=worker)
    assert spec_of(written)["trainer"]["numProcPerNode"] == 4
    assert "is lost: v2 fills PET_NPROC_PER_NODE itself" in notes(written)[0]


def test_pods_on_the_nodes_network_ask_the_clusters_name_servers() -> None:
    for policy, made, is_noted in (
        (None, "ClusterFirstWithHostNet", True),
        ("ClusterFirst", "ClusterFirstWithHostNet", True),
        ("Default", "Default", False),
        ("ClusterFirstWithHostNet", "ClusterFirstWithHostNet", False),
    ):
        template = pod("jax")
        template["spec"] |= {"hostNetwork": True, **({"dnsPolicy": policy} if policy else {})}
        job = v1("JAXJob", Worker={"replicas": 1, "template": template})
        assert jobs_of(job)["node"]["template"]["spec"]["dnsPolicy"] == made
        assert any("dnsPolicy" in each for each in notes(job)) is is_noted


def test_every_container_has_the_variables_that_the_training_operator_wrote() -> None:
    template = pod("jax")
    template["spec"]["containers"].append({"name": "board", "image": "i"})
    job = v1("JAXJob", Worker={"replicas": 1, "template": template})
    node, board = jobs_of(job)["node"]["template"]["spec"]["containers"]
    assert node["env"] == board["env"]


def test_what_cannot_be_nodes_is_refused() -> None:
    assert refusal(v1("PyTorchJob")) == [
        "spec.pytorchReplicaSpecs: must have replicas; write Master or Worker"
    ]
    assert refusal(v1("JAXJob", Worker={"replicas": 1})) == [
        "spec.jaxReplicaSpecs.Worker.template.spec.containers: must have a container"
    ]
    two = {"spec": {"containers": [{"name": "jax"}, {"name": "node"}]}}
    assert refusal(v1("JAXJob", Worker={"replicas": 1, "template": two})) == [
        (
            "spec.jaxReplicaSpecs.Worker.template.spec.containers: another container than 'jax' is "
            "called 'node'; rename it: v2 trains in the container 'node'"
        )
    ]


def _env(job_spec: Any) -> Any:
    return job_spec["template"]["spec"]["containers"][0]["env"]
