"""TrainJobs on shipped runtimes whose pods lack nothing: images, volumes and amounts fit together.

Read by test_rendered_objects.py. What an API server refuses of their Jobs, rendering has broken.
"""

from typing import Any

from hypothesis import strategies as st

from trainer_infra import catalog

JSON = dict[str, Any]

ENV: tuple[JSON, ...] = (
    {"name": "MINE", "value": "1"},
    {"name": "EMPTY", "value": ""},
    {"name": "BARE"},
    {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    {"name": "MAP", "valueFrom": {"configMapKeyRef": {"name": "map", "key": "key"}}},
    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "credentials", "key": "token"}}},
)
RESOURCES: tuple[JSON, ...] = (
    {"limits": {"cpu": 4, "memory": "16Gi"}},
    {"limits": {"cpu": "2"}, "requests": {"cpu": "500m"}},
    {"limits": {"nvidia.com/gpu": 2}},
    {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": 1, "memory": "1Gi"}},
    {"limits": {"google.com/tpu": 4}, "requests": {"google.com/tpu": 4}},
)
GANGS: tuple[JSON | None, ...] = (
    None,
    {"coscheduling": {}},
    {"coscheduling": {"scheduleTimeoutSeconds": 120}},
    {"volcano": {}},
    {"volcano": {"networkTopology": {"mode": "soft", "highestTierAllowed": 2}}},
)
SOURCES = ("hf://org/repo", "s3://bucket/path")


def some(values: tuple[JSON, ...]) -> st.SearchStrategy[list[JSON]]:
    """A few different ones, in any order."""
    return st.permutations(values).flatmap(
        lambda order: st.integers(0, 3).map(lambda number: list(order[:number]))
    )


def fields(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[JSON]:
    """An object with any of these fields."""
    return st.fixed_dictionaries({}, optional=strategies)


@st.composite
def runtimes(draw: st.DrawFn, name: str) -> JSON:
    """A shipped runtime, with more containers, volumes and a gang now and then."""
    runtime = catalog.get(name).to_wire()
    spec = runtime["spec"]
    gang = draw(st.sampled_from(GANGS))
    if gang is not None:
        spec["podGroupPolicy"] = gang
    for job in spec["template"]["spec"]["replicatedJobs"]:
        pod = job["template"]["spec"]["template"]["spec"]
        pod["volumes"] = [*pod.get("volumes", ()), {"name": "scratch", "emptyDir": {}}]
        for kind, more in (("containers", "sidecar"), ("initContainers", "prepare")):
            if draw(st.booleans()):
                pod[kind] = [*pod.get(kind, ()), draw(containers(more))]
    return runtime


@st.composite
def containers(draw: st.DrawFn, name: str) -> JSON:
    """A container of the user's own beside the trainer's."""
    optional = fields(
        env=some(ENV),
        resources=st.sampled_from(RESOURCES),
        command=st.just(["run"]),
        ports=st.just([{"containerPort": 8080, "name": "http"}]),
        volumeMounts=st.just([{"name": "scratch", "mountPath": "/scratch"}]),
    )
    return {"name": name, "image": "image:1", **draw(optional)}


def pod_patches(runtime: JSON, job: str) -> st.SearchStrategy[JSON]:
    """What a patch may say of the pods of one replicated job."""
    entries = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    (pod,) = (
        each["template"]["spec"]["template"]["spec"] for each in entries if each["name"] == job
    )
    sidecars = [each["name"] for each in pod["containers"] if each["name"] == "sidecar"]
    mount = {"name": "extra", "mountPath": "/extra"}
    patched = [
        {"name": name, "env": [{"name": "PATCHED", "value": "1"}], "volumeMounts": [mount]}
        for name in sidecars
    ]
    return fields(
        nodeSelector=st.just({"pool": "a"}),
        tolerations=st.just([{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]),
        schedulingGates=st.just([{"name": "example.com/gate"}]),
        serviceAccountName=st.just("account"),
        imagePullSecrets=st.just([{"name": "pull"}]),
        securityContext=st.just({"runAsUser": 1000, "fsGroup": 2000}),
        terminationGracePeriodSeconds=st.sampled_from((0, 30)),
        containers=st.just(patched),
    ).map(lambda pod: {**pod, "volumes": [{"name": "extra", "emptyDir": {}}]})


@st.composite
def trainers(draw: st.DrawFn) -> JSON:
    """Changes to the trainer container."""
    found: JSON = draw(
        fields(
            image=st.just("mine:2"),
            command=st.just(["python", "train.py"]),
            args=st.just(["--lr", "0.1"]),
            env=some(ENV),
            numNodes=st.integers(1, 4),
            numProcPerNode=st.sampled_from((1, 2, 8)),
            resourcesPerNode=st.sampled_from(RESOURCES),
        )
    )
    return found


@st.composite
def pairs(draw: st.DrawFn, shipped: str) -> tuple[JSON, JSON]:
    """A TrainJob and the shipped runtime that it names."""
    runtime = draw(runtimes(shipped))
    names = [each["name"] for each in runtime["spec"]["template"]["spec"]["replicatedJobs"]]
    source = fields(
        storageUri=st.sampled_from(SOURCES),
        env=some(ENV),
        secretRef=st.just({"name": "credentials"}),
    )
    initializers = {kind: source for kind in ("dataset", "model") if f"{kind}-initializer" in names}
    spec = draw(
        fields(
            trainer=trainers(),
            suspend=st.booleans(),
            activeDeadlineSeconds=st.just(600),
            initializer=st.fixed_dictionaries(initializers),
        )
    )
    patched = draw(st.lists(st.sampled_from(names), unique=True))
    entries = [
        {
            "name": name,
            "template": {"spec": {"template": {"spec": draw(pod_patches(runtime, name))}}},
        }
        for name in patched
    ]
    if entries:
        template = {"metadata": {"labels": {"team": "a"}}, "spec": {"replicatedJobs": entries}}
        patch = {"manager": "example.com/team", "trainingRuntimeSpec": {"template": template}}
        spec["runtimePatches"] = [patch]
    ref = {"name": runtime["metadata"]["name"], "kind": runtime["kind"]}
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "ns"},
        "spec": {"runtimeRef": ref, **spec},
    }
    return job, runtime
