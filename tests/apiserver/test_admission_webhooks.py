"""Our webhooks behind a real API server: each rule with its words and its code.

Rules: reference behaviour 5.1 to 5.3. What ours decides otherwise has its deviation's name.
"""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from from_source.cluster.client import Answer, Client
from from_source.cluster.waiting import wait_until
from tests.apiserver import trainer_webhooks
from tests.apiserver.trainer_webhooks import trainjob
from tests.cluster_programs import NewServer
from tests.controller import malformed_reviews
from tests.controller.reviews import patched
from trainer_infra import catalog
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.render import child_metadata, pipeline, snapshot
from trainer_infra.render.behaviour import REFERENCE

JSON = dict[str, Any]

GROUP: Final = "/apis/trainer.kubeflow.org/v1alpha1"
RUNTIMES: Final = f"{GROUP}/clustertrainingruntimes"
OWN_RUNTIMES: Final = f"{GROUP}/namespaces/default/trainingruntimes"
JOBS: Final = f"{GROUP}/namespaces/default/trainjobs"
JOBSETS: Final = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
DENIED: Final = 'admission webhook "validator.{kind}.trainer.kubeflow.org" denied the request: '
TORCH: Final = "torch-distributed"
KNOWN: Final = (
    *(TORCH, "xgboost-distributed", "deepspeed-distributed", "torchtune-llama3.2-1b"),
    "torch-distributed-with-cache",
)
FORBIDDEN: Final = 403
INVALID: Final = 422
CREATED: Final = 201
SERVER_ERROR: Final = 500


@dataclass(frozen=True)
class Cluster:
    client: Client
    kubeconfig: Path
    port: int

    def job(self, spec: JSON | None = None, **metadata: Any) -> JSON:
        """A TrainJob that is stored."""
        answer = self.client.create(JOBS, trainjob(f"j-{uuid4().hex[:8]}", spec, **metadata))
        assert answer.message == ""
        return answer.body

    def update(self, job: JSON, spec: JSON | None = None, **metadata: Any) -> Answer:
        """What the server says to a change of fields of the spec, None for one that goes."""
        wanted = {**job["spec"], **(spec or {})}
        wanted = {key: each for key, each in wanted.items() if each is not None}
        value = {**job, "spec": wanted, "metadata": {**job["metadata"], **metadata}}
        return self.client.replace(f"{JOBS}/{job['metadata']['name']}", value)


@pytest.fixture(scope="module")
def api(
    own_api_server: NewServer,
) -> Iterator[tuple[Client, Path]]:
    with own_api_server() as (address, kubeconfig), Client(address) as client:
        for name in KNOWN:
            assert client.create(RUNTIMES, catalog.get(name).to_wire()).message == ""
        yield client, kubeconfig


@pytest.fixture(scope="module")
def cluster(api: tuple[Client, Path]) -> Iterator[Cluster]:
    with trainer_webhooks.serving(api[1]) as served:
        trainer_webhooks.install(api[0], served.webhooks.port)
        trainer_webhooks.wait_until_ready(served, api[0])
        yield Cluster(*api, served.webhooks.port)


def denied(answer: Answer, kind: str = "trainjob") -> str:
    """The words of the webhook that refused."""
    head = DENIED.format(kind=kind)
    assert (answer.status, answer.body.get("reason")) == (FORBIDDEN, "Forbidden"), answer.body
    assert answer.message.startswith(head)
    return answer.message.removeprefix(head)


def reference_to(name: str) -> JSON:
    return {
        "runtimeRef": {
            "name": name,
            "apiGroup": "trainer.kubeflow.org",
            "kind": "ClusterTrainingRuntime",
        }
    }


def shown(name: str) -> str:
    return json.dumps(reference_to(name)["runtimeRef"], separators=(",", ":"))


def variable(name: str) -> JSON:
    return {"trainer": {"env": [{"name": name, "value": "1"}]}}


TUNE: Final = {"command": ["tune", "run"], "resourcesPerNode": {"limits": {"nvidia.com/gpu": "1"}}}
REFUSALS: Final = {
    "an unknown kind of runtime": (
        {"runtimeRef": {"name": TORCH, "kind": "Recipe"}},
        "spec.runtimeRef: Invalid value: ",
        ": unsupported runtime: Recipe.trainer.kubeflow.org",
    ),
    "no cluster runtime": (
        reference_to("gone"),
        f"spec.RuntimeRef: Invalid value: {shown('gone')}: ",
        (
            'clustertrainingruntimes.trainer.kubeflow.org "gone" not found: specified '
            "clusterTrainingRuntime must be created before the TrainJob is created"
        ),
    ),
    "no runtime of the namespace": (
        {"runtimeRef": {"name": "gone", "kind": "TrainingRuntime"}},
        "spec.runtimeRef: Invalid value: ",
        (
            ': trainingruntimes.trainer.kubeflow.org "gone" not found: specified trainingRuntime '
            "must be created before the TrainJob is created"
        ),
    ),
    "a reserved variable of torch": (
        variable("PET_NNODES"),
        'spec.trainer.env: Invalid value: [{"name":"PET_NNODES","value":"1"}]: ',
        "must not have reserved envs, invalid envs configured: [PET_NNODES]",
    ),
    "a reserved variable of MPI": (
        reference_to("deepspeed-distributed") | variable("OMPI_MCA_plm_rsh_args"),
        "spec.trainer.env: Invalid value: ",
        "must not have reserved envs, invalid envs configured: [OMPI_MCA_plm_rsh_args]",
    ),
    "a reserved variable of XGBoost": (
        reference_to("xgboost-distributed") | variable("DMLC_TASK_ID"),
        "spec.trainer.env[0]: Forbidden: DMLC_TASK_ID is reserved for the XGBoost runtime",
        "",
    ),
    "torchtune on a runtime without a model": (
        {"trainer": TUNE},
        f'spec.runtimeRef.name: Invalid value: "{TORCH}": ',
        "must have a supported pretrained model, invalid model configured: ",
    ),
    "torchtune on too many nodes": (
        reference_to("torchtune-llama3.2-1b") | {"trainer": {**TUNE, "numNodes": 2}},
        "spec.trainer.numNodes: Invalid value: 2: must be 1 for llama3_2/1B model",
        "",
    ),
    "a setting that the runtime manages": (
        reference_to("torchtune-llama3.2-1b")
        | {"trainer": {**TUNE, "args": ["tokenizer.path=/x"]}},
        'spec.trainer.args[0]: Invalid value: "tokenizer.path=/x": ',
        'must not set immutable config "tokenizer.path" in trainer args; it is managed by the runtime',
    ),
    "a dataset without its job": (
        {"initializer": {"dataset": {"storageUri": "hf://a/b"}}},
        f"spec.runtimeRef: Invalid value: {shown(TORCH)}: ",
        "must have dataset-initializer job when trainJob is configured with input datasetConfig",
    ),
    "a model without its job": (
        {"initializer": {"model": {}}},
        f"spec.runtimeRef: Invalid value: {shown(TORCH)}: ",
        "must have model-initializer job when trainJob is configured with input modelConfig",
    ),
    "a manager without a domain": (
        {"runtimePatches": [patched("someone")]},
        'spec.runtimePatches.manager: Invalid value: "someone": ',
        'must be a domain-prefixed path (such as "acme.io/foo")',
    ),
    "a job that the runtime has not": (
        {"runtimePatches": [json.loads(json.dumps(patched()).replace('"node"', '"other"'))]},
        'spec.runtimePatches: Invalid value: [{"manager":"acme.io/x",',
        "must not have replicated job that doesn't exist in the runtime job template",
    ),
    "a container that the runtime has not (Q10)": (
        {"runtimePatches": [patched(containers=[{"name": "other"}])]},
        "spec.runtimePatches: Invalid value: ",
        "must not have container that doesn't exist in the runtime job node",
    ),
    "an init container that the runtime has not (Q10)": (
        {"runtimePatches": [patched(initContainers=[{"name": "node"}])]},
        "spec.runtimePatches: Invalid value: ",
        "must not have initContainer that doesn't exist in the runtime job node",
    ),
    "variables of the trainer in a patch": (
        {"runtimePatches": [patched(containers=[{"name": "node", "env": [{"name": "A"}]}])]},
        "spec.runtimePatches: Invalid value: ",
        "must not have envs for the dataset-initializer, model-initializer, node containers",
    ),
    "a negative number of nodes (num-nodes)": (
        {"trainer": {"numNodes": -1}},
        "spec.trainer.numNodes: Invalid value: -1: must not be negative",
        "",
    ),
    "a request above its limit (resources)": (
        {"trainer": {"resourcesPerNode": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}},
        "spec.trainer.resourcesPerNode.requests[cpu]: Invalid value: ",
        "must not be above its limit",
    ),
}


@pytest.mark.parametrize("rule", REFUSALS)
def test_each_rule_of_a_train_job_has_its_words_and_its_code(cluster: Cluster, rule: str) -> None:
    spec, begins, says = REFUSALS[rule]
    words = denied(cluster.client.create(JOBS, trainjob("refused", spec), dryRun="All"))
    assert words.startswith(begins)
    assert says in words


def test_a_name_that_is_too_long_for_jobset_is_refused_q7(cluster: Cluster) -> None:
    words = denied(cluster.client.create(JOBS, trainjob("a" * 60)))
    assert words.startswith(f'metadata.name: Invalid value: "{"a" * 60}": is too long')


def test_several_problems_are_said_at_once_with_their_fields(cluster: Cluster) -> None:
    spec = {"initializer": {"model": {}}, **variable("PET_NNODES")}
    answer = cluster.client.create(JOBS, trainjob("refused", spec))
    words = denied(answer)
    assert words.startswith("[spec.")
    assert words.endswith("]")
    fields = [each["field"] for each in answer.body["details"]["causes"]]
    assert fields == ["spec.trainer.env", "spec.runtimeRef"]


def test_what_the_schema_refuses_is_422_and_not_ours(cluster: Cluster) -> None:
    for value in (
        trainjob("A-b"),
        trainjob("a" * 64),
        trainjob("a", {"trainer": {"numNodes": "two"}}),
        trainjob("a", {"managedBy": "someone"}),
        trainjob("a", {"runtimePatches": [{"manager": "a.io/b", "time": "yesterday"}]}),
        trainjob("a", {"initializer": {"model": {"storageUri": "nowhere"}}}),
    ):
        answer = cluster.client.create(JOBS, value)
        assert (answer.status, answer.body["reason"]) == (INVALID, "Invalid"), answer.body


def test_patches_get_a_time_and_keep_it(cluster: Cluster) -> None:
    given = "2025-01-01T00:00:00Z"
    job = cluster.job({"suspend": True, "runtimePatches": [patched("a.io/a")]})
    (stamped,) = job["spec"]["runtimePatches"]
    assert stamped["time"].endswith("Z")

    same = {**stamped, "time": given}
    external = patched("b.io/b", given)
    answer = cluster.update(job, {"runtimePatches": [external, same]})
    assert answer.message == ""
    assert answer.body["spec"]["runtimePatches"] == [external, stamped]

    moved = patched("b.io/b", given, nodeSelector={"a": "b"})
    answer = cluster.update(answer.body, {"runtimePatches": [moved, same]})
    first, second = answer.body["spec"]["runtimePatches"]
    assert first["time"] not in (given, None)
    assert second == stamped


def jobset_of(cluster: Cluster, job: JSON, active: int = 0) -> None:
    """The JobSet of a TrainJob, as its controller would have left it."""
    typed = TrainJob.from_wire({key: each for key, each in job.items() if key != "status"})
    runtime = catalog.get(TORCH)
    value = json.loads(json.dumps(pipeline.render(typed, runtime)[-1]))
    made = cluster.client.create(JOBSETS, value)
    assert made.message == ""
    counts = {"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "suspended": 0}
    made.body["status"] = {"replicatedJobsStatus": [{**counts, "active": active}]}
    path = f"{JOBSETS}/{job['metadata']['name']}/status"
    assert cluster.client.replace(path, made.body).message == ""


def test_patches_change_only_while_no_pod_runs(cluster: Cluster) -> None:
    patches = {"runtimePatches": [patched(nodeSelector={"a": "b"})]}
    running = cluster.job()
    assert denied(cluster.update(running, patches)) == (
        "spec.runtimePatches: Forbidden: RuntimePatches can only be modified when the TrainJob is "
        "suspended before or after the update"
    )
    # Kueue changes both in one request.
    assert cluster.update(running, {**patches, "suspend": True}).message == ""

    busy = cluster.job({"suspend": True})
    jobset_of(cluster, busy, active=1)
    assert denied(cluster.update(busy, patches)) == (
        "spec.runtimePatches: Forbidden: RuntimePatches cannot be modified when the JobSet's "
        "ReplicatedJob node is still active"
    )


def test_q8_a_patch_that_jobset_refuses_is_refused(cluster: Cluster) -> None:
    job = cluster.job({"suspend": True})
    jobset_of(cluster, job)
    affinity = {"runtimePatches": [patched(affinity={"podAffinity": {}})]}
    assert "which JobSet refuses: field is immutable" in denied(cluster.update(job, affinity))
    moved = {"runtimePatches": [patched(nodeSelector={"a": "b"})]}
    assert cluster.update(job, moved).message == ""


def test_q12_an_immutable_field_can_be_neither_added_nor_removed(cluster: Cluster) -> None:
    bare, whole = cluster.job(), cluster.job({"trainer": {"image": "a:1"}})
    for job, change in ((bare, {"image": "a:1"}), (whole, None)):
        words = denied(cluster.update(job, {"trainer": change}))
        assert words.startswith("spec.trainer: Invalid value: ")
        assert ": field is immutable; it was " in words
    changed = cluster.update(whole, {"trainer": {"image": "a:2"}})
    assert changed.status == INVALID


def own_runtime(name: str, **change: Any) -> JSON:
    runtime = {**catalog.get(TORCH).to_wire(), "kind": "TrainingRuntime"}
    runtime["metadata"] = {"name": name}
    return {**runtime, **copy.deepcopy(change)}


def test_q9_a_job_whose_runtime_is_gone_stays_editable_and_goes(cluster: Cluster) -> None:
    name = f"r-{uuid4().hex[:8]}"
    runtime = cluster.client.create(OWN_RUNTIMES, own_runtime(name)).body
    reference = {"runtimeRef": {"name": name, "kind": "TrainingRuntime"}}
    job = cluster.job({**reference, "suspend": True}, finalizers=["a.io/b"])
    lost = cluster.job({**reference, "suspend": True}, finalizers=["a.io/b"])
    typed = TrainJob.from_wire({key: each for key, each in job.items() if key != "status"})
    born = ClusterTrainingRuntime.from_wire({**runtime, "kind": "ClusterTrainingRuntime"})
    kept = snapshot.config_map(typed, born)
    text = kept["data"]["runtime"].replace("ClusterTrainingRuntime", "TrainingRuntime")
    whole = child_metadata.with_owner({**kept, "data": {"runtime": text}}, typed)
    assert cluster.client.create(CONFIG_MAPS, whole).message == ""
    cluster.client.delete(f"{OWN_RUNTIMES}/{name}")

    resumed = cluster.update(job, {"suspend": False}, labels={"a": "b"})
    assert resumed.message == ""
    assert "must be created before" in denied(cluster.update(lost, {"suspend": False}))
    annotated = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}
    for each in (resumed.body, lost):
        path = f"{JOBS}/{each['metadata']['name']}"
        assert cluster.client.delete(path).message == ""
        leaving = cluster.client.get(path).body
        assert leaving["metadata"]["deletionTimestamp"]
        assert cluster.update(leaving, {"suspend": True}, **annotated).message == ""
        leaving = cluster.client.get(path).body
        assert cluster.update(leaving, finalizers=[]).message == ""
        assert cluster.client.get(path).status == 404


def test_a_damaged_object_is_answered_and_none_is_stored_that_our_schema_refuses(
    cluster: Cluster,
) -> None:
    """The API server asks both webhooks, of which one comes before its own schema."""
    outcomes: Counter[int] = Counter()

    for seed in range(300):
        answer = cluster.client.create(JOBS, malformed_reviews.damaged_job(seed), dryRun="All")
        outcomes[answer.status] += 1
        assert answer.status < SERVER_ERROR, answer.message
        if answer.status == CREATED:
            TrainJob.from_wire(answer.body)
    assert {CREATED, INVALID} <= set(outcomes), outcomes


def unsound() -> JSON:
    """The spec of a runtime with two replicas of its trainer, and without its container."""
    spec = copy.deepcopy(catalog.get(TORCH).to_wire()["spec"])
    (job,) = spec["template"]["spec"]["replicatedJobs"]
    job["replicas"] = 2
    job["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = "main"
    return dict(spec)


UNSOUND: Final = (
    "spec.template.spec.replicatedJobs[0].replicas: Invalid value: 2: always must be 1",
    "must contain the required container for the ancestor: trainer",
)


def test_a_runtime_is_judged_with_all_of_its_problems(cluster: Cluster) -> None:
    """At a create and, for a TrainingRuntime by Q10, at an update."""
    whole = {**catalog.get(TORCH).to_wire(), "metadata": {"name": "unsound"}, "spec": unsound()}
    own = own_runtime(f"r-{uuid4().hex[:8]}")
    stored = cluster.client.create(OWN_RUNTIMES, own).body
    answers = (
        (cluster.client.create(RUNTIMES, whole), "clustertrainingruntime"),
        (cluster.client.create(OWN_RUNTIMES, {**own, "spec": unsound()}), "trainingruntime"),
        (
            cluster.client.replace(
                f"{OWN_RUNTIMES}/{own['metadata']['name']}", {**stored, "spec": unsound()}
            ),
            "trainingruntime",
        ),
    )
    for answer, kind in answers:
        words = denied(answer, kind)
        assert all(each in words for each in UNSOUND)
    gangs = {**own["spec"], "podGroupPolicy": {"coscheduling": {}, "volcano": {}}}
    words = denied(cluster.client.create(OWN_RUNTIMES, {**own, "spec": gangs}), "trainingruntime")
    assert "must have only one of coscheduling and volcano" in words


def test_the_label_of_the_shipped_runtimes_switches_the_check_off(cluster: Cluster) -> None:
    labels = {"trainer.kubeflow.org/webhook-validation": "disabled"}
    value = own_runtime(f"r-{uuid4().hex[:8]}", spec=unsound())
    value["metadata"]["labels"] = labels
    assert cluster.client.create(OWN_RUNTIMES, value).message == ""


def test_q11_a_dataset_of_the_cache_needs_no_volume(cluster: Cluster) -> None:
    spec = reference_to("torch-distributed-with-cache") | {
        "initializer": {"dataset": {"storageUri": "cache://schema/table"}}
    }
    assert cluster.client.create(JOBS, trainjob("cached", spec), dryRun="All").message == ""


def test_q16_a_priority_class_is_judged_by_the_server_that_has_it(cluster: Cluster) -> None:
    spec = copy.deepcopy(catalog.get(TORCH).to_wire()["spec"])
    spec["podGroupPolicy"] = {"volcano": {}}
    (job,) = spec["template"]["spec"]["replicatedJobs"]
    name = f"class-{uuid4().hex[:8]}"
    job["template"]["spec"]["template"]["spec"]["priorityClassName"] = name
    cluster.client.create(OWN_RUNTIMES, own_runtime("gang", spec=spec))
    wanted = trainjob("ranked", {"runtimeRef": {"name": "gang", "kind": "TrainingRuntime"}})
    assert denied(cluster.client.create(JOBS, wanted)) == (
        f'spec.templateSpec.priorityClassName: Invalid value: "{name}": PriorityClass "{name}" '
        f'doesn\'t exist: priorityclasses.scheduling.k8s.io "{name}" not found'
    )
    assert cluster.client.create(CLASSES, {"metadata": {"name": name}, "value": 1}).message == ""
    assert cluster.client.create(JOBS, wanted).message == ""


def test_like_the_reference_the_words_are_the_references(cluster: Cluster) -> None:
    """Without advice and causes; what only ours refuses is admitted."""
    client = cluster.client
    with trainer_webhooks.serving(cluster.kubeconfig, behaviour=REFERENCE) as served:
        trainer_webhooks.wait_until_ready(served, client)
        trainer_webhooks.redirect(client, served.webhooks.port)
        words = "unsupported runtime: Recipe.trainer.kubeflow.org"
        strange = trainjob("refused", {"runtimeRef": {"name": "x", "kind": "Recipe"}})

        def is_redirected() -> bool:
            return denied(client.create(JOBS, strange)) == words

        try:
            assert wait_until(is_redirected, trainer_webhooks.WITHIN)
            answer = client.create(JOBS, trainjob("refused", variable("PET_NNODES")))
            assert denied(answer) == (
                'spec.trainer.env: Invalid value: [{"name":"PET_NNODES","value":"1"}]: must not '
                "have reserved envs, invalid envs configured: [PET_NNODES]"
            )
            assert "details" not in answer.body
            bare = cluster.job()
            assert cluster.update(bare, {"trainer": {"image": "a:1"}}).message == ""
        finally:
            trainer_webhooks.redirect(client, cluster.port)
