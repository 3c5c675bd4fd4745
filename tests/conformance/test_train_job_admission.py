"""Reference behaviour 5.1: what the webhook of TrainJobs refuses, warns of and lets pass."""

from typing import Any

import pytest

from tests.conformance import admission, objects
from tests.conformance.admission import Refusal
from tests.conformance.objects import DATASET, MODEL
from tests.conformance.places import Place
from tests.conformance.rules import rule
from trainer_infra.render.deviation import Deviation

JSON = dict[str, Any]

DEPRECATED = {"trainer.kubeflow.org/support": "deprecated"}
REF = "spec.runtimeRef"
PATCHES = "spec.runtimePatches"
ENV = "spec.trainer.env"
MPI_JOBS = [objects.job("node", None), objects.job("launcher")]
LAUNCHER_AS_NODE = {"mpi": {"runLauncherAsNode": True}}
HIGH = {"priorityClassName": "none-of-that-name"}


def env(*names: str) -> JSON:
    return {"env": [{"name": each, "value": "1"} for each in names]}


def patched(**pod: Any) -> JSON:
    return {"runtimePatches": [objects.patch(**pod)]}


def volcano(*jobs: JSON, **template: Any) -> JSON:
    return objects.runtime("runtime", *jobs, gang={"volcano": {}}, template=template)


def injected(job: str, container: str) -> JSON:
    targets = [{"jobName": job, "containerNames": [container]}]
    return objects.runtime(policy={"torch": {"envInjection": {"targets": targets}}})


REFUSED = {
    "a dataset without its job": pytest.param(
        objects.runtime(),
        {"initializer": {"dataset": {}}},
        [
            Refusal(
                REF,
                "must have dataset-initializer job when trainJob is configured with input "
                "datasetConfig",
            )
        ],
        marks=rule("5.1-dataset-job"),
    ),
    "a dataset without its container": pytest.param(
        objects.runtime("runtime", objects.job(DATASET, None), objects.job()),
        {"initializer": {"dataset": {}}},
        [
            Refusal(
                REF,
                "must have container with name - dataset-initializer in the dataset-initializer job",
            )
        ],
        marks=rule("5.1-dataset-container"),
    ),
    "a dataset without its volume": pytest.param(
        objects.runtime("runtime", objects.job(DATASET, DATASET), objects.job()),
        {"initializer": {"dataset": {"storageUri": "hf://a/b"}}},
        [
            Refusal(
                REF,
                "must have volumeMount with name - initializer in container dataset-initializer of "
                "the dataset-initializer job",
            )
        ],
        marks=rule("5.1-dataset-mount"),
    ),
    "a model without its job": pytest.param(
        objects.runtime(),
        {"initializer": {"model": {}}},
        [
            Refusal(
                REF,
                "must have model-initializer job when trainJob is configured with input modelConfig",
            )
        ],
        marks=rule("5.1-model-job"),
    ),
    "a model without its container": pytest.param(
        objects.runtime("runtime", objects.job(MODEL, None), objects.job()),
        {"initializer": {"model": {}}},
        [
            Refusal(
                REF,
                "must have container with name - model-initializer in the model-initializer job",
            )
        ],
        marks=rule("5.1-model-container"),
    ),
    "a model without its volume": pytest.param(
        objects.runtime("runtime", objects.job(MODEL, MODEL), objects.job()),
        {"initializer": {"model": {"storageUri": "hf://a/b"}}},
        [
            Refusal(
                REF,
                "must have volumeMount with name - initializer in container model-initializer of "
                "the model-initializer job",
            )
        ],
        marks=rule("5.1-model-mount"),
    ),
    "an injection into no job": pytest.param(
        injected("other", "one"),
        {},
        [
            Refusal(
                REF,
                'envInjection target podSet "other" container "one" not found in runtime template',
            )
        ],
        marks=rule("5.1-torch-injection"),
    ),
    "an injection into no container": pytest.param(
        injected("node", "one"),
        {},
        [
            Refusal(
                REF,
                'envInjection target podSet "node" container "one" not found in runtime template',
            )
        ],
        marks=rule("5.1-torch-injection"),
    ),
    "variables of torch": pytest.param(
        objects.runtime(),
        {"trainer": env("PET_NODE_RANK", "MINE", "PET_MASTER_ADDR")},
        [
            Refusal(
                ENV,
                "must not have reserved envs, invalid envs configured: "
                "[PET_MASTER_ADDR PET_NODE_RANK]",
            )
        ],
        marks=rule("5.1-torch-env"),
    ),
    "several nodes without a launcher": pytest.param(
        objects.runtime("runtime", objects.job(), policy=LAUNCHER_AS_NODE),
        {"trainer": {"numNodes": 2}},
        [
            Refusal(
                "spec.trainer.numNodes",
                "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not have "
                "either launcher and node",
            )
        ],
        marks=rule("5.1-mpi-jobs"),
    ),
    "variables of OpenMPI": pytest.param(
        objects.runtime("runtime", *MPI_JOBS, policy=LAUNCHER_AS_NODE),
        {"trainer": env("OMPI_MCA_plm_rsh_args", "OMPI_MCA_orte_default_hostfile")},
        [
            Refusal(
                ENV,
                "must not have reserved envs, invalid envs configured: "
                "[OMPI_MCA_orte_default_hostfile OMPI_MCA_plm_rsh_args]",
            )
        ],
        marks=rule("5.1-mpi-env"),
    ),
    "variables of XGBoost": pytest.param(
        objects.runtime(policy={"xgboost": {}}),
        {"trainer": env("DMLC_TASK_ID", "MINE", "DMLC_NUM_WORKER")},
        [
            admission.forbidden(
                "spec.trainer.env[0]", "DMLC_TASK_ID is reserved for the XGBoost runtime"
            ),
            admission.forbidden(
                "spec.trainer.env[2]", "DMLC_NUM_WORKER is reserved for the XGBoost runtime"
            ),
        ],
        marks=rule("5.1-xgboost-env", "5.1-several"),
    ),
    "the init container of Flux": pytest.param(
        objects.runtime(
            "runtime",
            objects.job(initContainers=[objects.container("flux-installer")]),
            policy={"flux": {}},
        ),
        {"trainer": {"numNodes": 1}},
        [
            Refusal(
                "spec.trainer.initContainers", "InitContainer 'flux-installer' is reserved"
            )
        ],
        marks=rule("5.1-flux-init-container"),
    ),
    "an empty queue": pytest.param(
        volcano(annotations={"scheduling.volcano.sh/queue-name": ""}),
        {},
        [
            Refusal(
                "spec.annotations[scheduling.volcano.sh/queue-name]",
                "Volcano queue name must not be empty",
            )
        ],
        marks=rule("5.1-volcano-queue"),
    ),
    "no such priority class": pytest.param(
        volcano(objects.job(**HIGH)),
        {},
        [
            Refusal(
                "spec.templateSpec.priorityClassName",
                'PriorityClass "none-of-that-name" doesn\'t exist: '
                'PriorityClass.scheduling.k8s.io "none-of-that-name" not found',
            )
        ],
        marks=rule("5.1-volcano-priority"),
    ),
    "a manager without a domain": pytest.param(
        objects.runtime(),
        {"runtimePatches": [objects.patch("nobody")]},
        [
            Refusal(
                "spec.runtimePatches.manager",
                'must be a domain-prefixed path (such as "acme.io/foo")',
            )
        ],
        marks=rule("5.1-patch-manager"),
    ),
    "variables of the trainer": pytest.param(
        objects.runtime(),
        patched(containers=[{"name": "node", **env("MINE")}]),
        [
            Refusal(
                PATCHES,
                "must not have envs for the dataset-initializer, model-initializer, node containers",
            )
        ],
        marks=rule("5.1-patch-env"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("runtime", "spec", "mistakes"), REFUSED.values(), ids=REFUSED)
def test_it_refuses(place: Place, runtime: JSON, spec: JSON, mistakes: list[Refusal]) -> None:
    place.add(runtime)
    admission.assert_refused(
        place, place.submit(objects.train_job(**spec)), admission.TRAIN_JOB, *mistakes
    )


ACCEPTED = {
    "variables of JAX": pytest.param(
        objects.runtime(policy={"jax": {}}),
        {"trainer": env("JAX_PROCESS_ID")},
        marks=rule("5.1-jax-env"),
    ),
    "variables of an init container": pytest.param(
        objects.runtime("runtime", objects.job(initContainers=[objects.container(DATASET)])),
        patched(initContainers=[{"name": DATASET, **env("MINE")}]),
        marks=rule("5.1-patch-env-of-init"),
    ),
    "one node without a launcher": pytest.param(
        objects.runtime("runtime", objects.job(), policy=LAUNCHER_AS_NODE),
        {"trainer": {"numNodes": 1}},
        marks=rule("5.1-mpi-jobs"),
    ),
    "priority classes of the system": pytest.param(
        volcano(
            objects.job(priorityClassName="system-node-critical"),
            objects.job("other", None, **HIGH),
        ),
        {},
        marks=rule("5.1-volcano-system-priority"),
    ),
    "a Secret that is not there": pytest.param(
        objects.runtime("runtime", objects.initializer(DATASET), objects.job()),
        {"initializer": {"dataset": {"secretRef": {"name": "none"}}}},
        marks=rule("5.1-not-checked-secret"),
    ),
    "no nodes": pytest.param(
        objects.runtime(), {"trainer": {"numNodes": 0}}, marks=rule("5.1-zero-nodes")
    ),
    "variables of the status server": pytest.param(
        objects.runtime(),
        {"trainer": env("KUBEFLOW_TRAINER_SERVER_URL")},
        marks=rule("5.1-not-checked-status-env"),
    ),
    "a deprecated runtime of the namespace": pytest.param(
        objects.runtime(labels=DEPRECATED), {}, marks=rule("5.1-deprecated-namespaced")
    ),
}


@pytest.mark.parametrize(("runtime", "spec"), ACCEPTED.values(), ids=ACCEPTED)
def test_it_accepts(place: Place, runtime: JSON, spec: JSON) -> None:
    place.add(runtime)
    answer = place.submit(objects.train_job(**spec))
    assert (answer.message, answer.warnings) == ("", ())


NO_INIT_CONTAINER = Refusal(
    PATCHES, "must not have initContainer that doesn't exist in the runtime job node"
)
ABOVE = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
BETTER = {
    "a job that the runtime has not": pytest.param(
        objects.train_job(**patched(name="other", nodeSelector={"a": "b"})),
        [
            Refusal(
                PATCHES,
                "must not have replicated job that doesn't exist in the runtime job template",
            )
        ],
        Deviation.Q10,
        marks=rule("5.1-patch-job", differs=(Deviation.Q10,)),
    ),
    "an init container that the job has not": pytest.param(
        objects.train_job(**patched(initContainers=[{"name": "other"}])),
        [NO_INIT_CONTAINER],
        Deviation.Q10,
        marks=rule("5.1-patch-init-container", differs=(Deviation.Q10,)),
    ),
    "a regular container as an init container": pytest.param(
        objects.train_job(**patched(initContainers=[{"name": "node"}])),
        [NO_INIT_CONTAINER],
        Deviation.Q10,
        marks=rule("5.1-patch-regular-as-init", differs=(Deviation.Q10,)),
    ),
    "a container that the job has not": pytest.param(
        objects.train_job(**patched(containers=[{"name": "other"}])),
        [Refusal(PATCHES, "must not have container that doesn't exist in the runtime job node")],
        Deviation.Q10,
        marks=rule("5.1-patch-container", differs=(Deviation.Q10,)),
    ),
    "a name that is too long for JobSet": pytest.param(
        objects.train_job("a" * 63),
        [Refusal("metadata.name", "")],
        Deviation.Q7,
        marks=rule("5.1-not-checked-name", differs=(Deviation.Q7,)),
    ),
    "requests above limits": pytest.param(
        objects.train_job(trainer={"resourcesPerNode": ABOVE}),
        [Refusal("spec.trainer.resourcesPerNode.requests[cpu]", "")],
        Deviation.RESOURCES,
        marks=rule("5.1-not-checked-resources", differs=(Deviation.RESOURCES,)),
    ),
    "a negative number of nodes": pytest.param(
        objects.train_job(trainer={"numNodes": -1}),
        [Refusal("spec.trainer.numNodes", "")],
        Deviation.NUM_NODES,
        marks=rule("5.1-not-checked-nodes", differs=(Deviation.NUM_NODES,)),
    ),
}


@pytest.mark.parametrize(("train_job", "mistakes", "deviation"), BETTER.values(), ids=BETTER)
def test_it_accepts_what_ours_refuses(
    place: Place, train_job: JSON, mistakes: list[Refusal], deviation: Deviation
) -> None:
    place.add(objects.runtime())
    answer = place.submit(train_job)
    if place.deviates(deviation):
        admission.assert_refused(place, answer, admission.TRAIN_JOB, *mistakes)
    else:
        assert answer.message == ""


@rule("5.1-dataset-mount", differs=(Deviation.Q11,))
def test_a_dataset_in_a_cache_needs_the_volume_too(place: Place) -> None:
    place.add(objects.runtime("runtime", objects.job(DATASET, DATASET), objects.job()))
    dataset = {"dataset": {"storageUri": "cache://schema/table"}}
    answer = place.submit(objects.train_job(initializer=dataset))
    if place.deviates(Deviation.Q11):
        assert answer.message == ""
    else:
        missing = "must have volumeMount with name - initializer in container dataset-initializer"
        admission.assert_refused(
            place,
            answer,
            admission.TRAIN_JOB,
            Refusal(REF, f"{missing} of the dataset-initializer job"),
        )


@rule("5.1-not-checked-mpi", differs=(Deviation.Q5,))
def test_an_empty_mpi_implementation_is_accepted(place: Place) -> None:
    place.add(objects.runtime("runtime", *MPI_JOBS, policy={"mpi": {"mpiImplementation": ""}}))
    answer = place.submit(objects.train_job())
    if place.deviates(Deviation.Q5):
        mistake = Refusal("spec.mlPolicy.mpi.mpiImplementation", "")
        admission.assert_refused(place, answer, admission.TRAIN_JOB, mistake)
    else:
        assert answer.message == ""


@rule("5.1-unsupported", "5-denied", differs=(Deviation.ADVICE,))
@pytest.mark.parametrize(
    ("ref", "named"),
    [
        ({"kind": "Runtime"}, "Runtime.trainer.kubeflow.org"),
        ({"apiGroup": "example.com"}, "ClusterTrainingRuntime.example.com"),
    ],
)
def test_a_kind_of_runtime_that_does_not_exist_is_refused(
    place: Place, ref: JSON, named: str
) -> None:
    train_job = objects.train_job()
    answer = place.submit({**train_job, "spec": {"runtimeRef": {"name": "runtime", **ref}}})
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    told = f"unsupported runtime: {named}"
    if place.deviates(Deviation.ADVICE):
        admission.assert_refused(place, answer, admission.TRAIN_JOB, Refusal(REF, told))
    else:
        said = f'admission webhook "{admission.TRAIN_JOB}" denied the request: {told}'
        assert answer.message == said


MISSING = {
    "TrainingRuntime": Refusal(
        REF,
        'TrainingRuntime.trainer.kubeflow.org "none" not found: specified trainingRuntime must be '
        "created before the TrainJob is created",
    ),
    "ClusterTrainingRuntime": Refusal(
        "spec.RuntimeRef",
        'ClusterTrainingRuntime.trainer.kubeflow.org "none" not found: specified '
        "clusterTrainingRuntime must be created before the TrainJob is created",
    ),
}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("TrainingRuntime", marks=rule("5.1-no-runtime")),
        pytest.param("ClusterTrainingRuntime", marks=rule("5.1-no-cluster-runtime")),
    ],
)
def test_the_runtime_must_exist(place: Place, kind: str) -> None:
    answer = place.submit(objects.train_job(runtime="none", kind=kind))
    admission.assert_refused(place, answer, admission.TRAIN_JOB, MISSING[kind])


@rule("5.1-no-runtime-on-update", differs=(Deviation.Q9,))
def test_the_runtime_must_exist_at_each_update_too(place: Place) -> None:
    place.add(objects.runtime("none"), objects.train_job(runtime="none", suspend=True))
    place.job_set()
    place.delete_runtime("none")
    changes: list[JSON] = [
        {"spec": {"suspend": False}},
        {"metadata": {"labels": {"example.com/a": "b"}}},
        {"metadata": {"finalizers": ["example.com/a"]}},
        {"metadata": {"finalizers": None}},
    ]
    answers = [place.merge("TrainJob", "a", change) for change in changes]
    for answer in answers[:-1]:
        if place.deviates(Deviation.Q9):
            assert answer.message == ""
        else:
            admission.assert_refused(place, answer, admission.TRAIN_JOB, MISSING["TrainingRuntime"])


@rule("5.1-deprecated")
def test_a_deprecated_cluster_training_runtime_is_a_warning(place: Place) -> None:
    kind = "ClusterTrainingRuntime"
    place.add(objects.runtime(place.name, kind=kind, labels=DEPRECATED))
    answer = place.submit(objects.train_job(runtime=place.name, kind=kind))
    assert answer.message == ""
    assert answer.warnings == (
        (
            f'Referenced ClusterTrainingRuntime "{place.name}" is deprecated and will be removed in a '
            "future release of Kubeflow Trainer. See runtime deprecation policy: "
            "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html"
            "#runtime-deprecation-policy"
        ),
    )


@rule("5.1-several")
def test_all_mistakes_are_told_at_once(place: Place) -> None:
    place.add(objects.runtime())
    asked: JSON = {"dataset": {}, "model": {}}
    answer = place.submit(objects.train_job(initializer=asked))
    text = "must have {}-initializer job when trainJob is configured with input {}Config"
    admission.assert_refused(
        place,
        answer,
        admission.TRAIN_JOB,
        *(Refusal(REF, text.format(each, each)) for each in ("dataset", "model")),
    )


@rule("5-schema")
def test_what_the_schema_refuses_is_another_answer(place: Place) -> None:
    place.add(objects.runtime())
    answer = place.submit(objects.train_job(managedBy="example.com/other"))
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")


@rule("5-delete")
def test_deletion_asks_no_webhook(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    place.delete("TrainingRuntime", "runtime")
    place.delete("TrainJob", "a")
    assert place.find("TrainJob", "a") == {}
