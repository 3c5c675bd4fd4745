"""Reference behaviour 4.3: how runtimePatches are merged with the runtime, as the JobSet shows."""

from typing import Any

from tests.conformance import objects
from tests.conformance.places import Place
from tests.conformance.rules import rule
from trainer_infra.render.deviation import Deviation

JSON = dict[str, Any]

FIRST, SECOND = "example.com/first", "example.com/second"


def job_set_of(place: Place, *patches: JSON, job: JSON | None = None) -> JSON:
    """The JobSet of a TrainJob with these patches, on a runtime with that job."""
    place.add(objects.runtime("runtime", job or objects.job(), policy=None))
    place.add(objects.train_job(runtimePatches=list(patches)))
    return place.job_set()


def named(items: list[JSON]) -> list[str]:
    return [each["name"] for each in items]


@rule("4.3-list-order")
def test_of_two_patches_the_later_one_holds(place: Place) -> None:
    first = objects.patch(FIRST, nodeSelector={"a": "first", "b": "first"})
    second = objects.patch(SECOND, nodeSelector={"b": "second"})
    selector = objects.pod_spec(job_set_of(place, first, second))["nodeSelector"]
    assert selector == {"a": "first", "b": "second"}


@rule("4.3-job-order")
def test_replicated_jobs_keep_the_runtimes_order(place: Place) -> None:
    jobs = [objects.job(name, None) for name in ("one", "two")]
    place.add(objects.runtime("runtime", *jobs, objects.job()))
    patches = [
        objects.patch(FIRST, "node", nodeSelector={"a": "b"}),
        objects.patch(SECOND, "two", nodeSelector={"a": "b"}),
    ]
    place.add(objects.train_job(runtimePatches=patches))
    assert named(place.job_set()["spec"]["replicatedJobs"]) == ["one", "two", "node"]


@rule("4.3-containers", "4.3-env", "4.3-item-order")
def test_containers_and_variables_are_merged_by_name(place: Place) -> None:
    env = [{"name": "KEPT", "value": "1"}, {"name": "CHANGED", "value": "1"}]
    sidecar, setup = objects.container("sidecar", env=env), objects.container("setup", env=env)
    job = objects.job(
        "node", None, containers=[objects.container(), sidecar], initContainers=[setup]
    )
    patched = [{"name": "CHANGED", "value": "2"}, {"name": "NEW", "value": "3"}]
    patch = objects.patch(
        containers=[{"name": "sidecar", "env": patched}],
        initContainers=[{"name": "setup", "env": patched}],
    )
    pod = objects.pod_spec(job_set_of(place, patch, job=job))
    assert sorted(named(pod["containers"])) == ["node", "sidecar"]
    for container in (
        next(each for each in pod["containers"] if each["name"] == "sidecar"),
        *pod["initContainers"],
    ):
        assert container["image"] == "example.com/runtime:1"
        assert objects.variables(container) == {"KEPT": "1", "CHANGED": "2", "NEW": "3"}
        names = [*objects.variables(container)]
        assert names == ["KEPT", "CHANGED", "NEW"]


@rule("4.3-item-order")
def test_new_variables_come_before_those_that_only_the_runtime_has(place: Place) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]
    job = objects.job("node", None, containers=[objects.container("sidecar", env=env)])
    patched = [{"name": "NEW", "value": "1"}]
    patch = objects.patch(containers=[{"name": "sidecar", "env": patched}])
    container = objects.only(job_set_of(place, patch, job=job), "node", "sidecar")
    assert [*objects.variables(container)] == ["NEW", "A", "B"]


@rule("4.3-mounts", "4.3-volumes", "4.3-item-order")
def test_mounts_are_merged_by_path_and_volumes_by_name(place: Place) -> None:
    mounts = [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b"}]
    volumes: list[JSON] = [{"name": each, "emptyDir": {}} for each in ("a", "b")]
    container = objects.container(volumeMounts=mounts)
    job = objects.job("node", None, containers=[container], volumes=volumes)
    changed = [{"name": "c", "mountPath": "/b"}, {"name": "d", "mountPath": "/d"}]
    patch = objects.patch(
        containers=[{"name": "node", "volumeMounts": changed}],
        volumes=[{"name": "b", "emptyDir": {"medium": "Memory"}}, {"name": "c", "emptyDir": {}}],
    )
    pod = objects.pod_spec(job_set_of(place, patch, job=job))
    (container,) = pod["containers"]
    by_path = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    assert by_path == {"/a": "a", "/b": "c", "/d": "d"}
    by_name = {each["name"]: each["emptyDir"] for each in pod["volumes"]}
    assert by_name == {"a": {}, "b": {"medium": "Memory"}, "c": {}}
    assert [each["mountPath"] for each in container["volumeMounts"]] == ["/a", "/b", "/d"]


@rule("4.3-volume-source", differs=(Deviation.Q17,))
def test_a_volume_that_gets_another_source_keeps_the_old_one(place: Place) -> None:
    job = objects.job("node", None, volumes=[{"name": "v", "emptyDir": {}}])
    claim = {"persistentVolumeClaim": {"claimName": "c"}}
    patch = objects.patch(volumes=[{"name": "v", **claim}])
    (volume,) = objects.pod_spec(job_set_of(place, patch, job=job))["volumes"]
    old: JSON = {} if place.deviates(Deviation.Q17) else {"emptyDir": {}}
    assert volume == {"name": "v", **old, **claim}


@rule("4.3-named-lists")
def test_pull_secrets_and_gates_are_merged_by_name(place: Place) -> None:
    def both(name: str) -> JSON:
        return {
            "imagePullSecrets": [{"name": name}],
            "schedulingGates": [{"name": f"example.com/{name}"}],
        }

    pod = objects.pod_spec(
        job_set_of(place, objects.patch(**both("patch")), job=objects.job(**both("runtime")))
    )
    assert sorted(named(pod["imagePullSecrets"])) == ["patch", "runtime"]
    assert sorted(named(pod["schedulingGates"])) == ["example.com/patch", "example.com/runtime"]


@rule("4.3-replaced-lists")
def test_tolerations_are_replaced(place: Place) -> None:
    own, patched = ({"key": each, "operator": "Exists"} for each in ("own", "patched"))
    job_set = job_set_of(
        place, objects.patch(tolerations=[patched]), job=objects.job(tolerations=[own])
    )
    assert objects.pod_spec(job_set)["tolerations"] == [patched]


@rule("4.3-maps")
def test_selectors_labels_and_annotations_are_merged(place: Place) -> None:
    def both(value: str) -> JSON:
        keys = {"example.com/both": value, f"example.com/{value}": value}
        return {"labels": keys, "annotations": keys}

    job = objects.job(nodeSelector={"a": "1", "b": "1"}, pod_metadata=both("runtime"))
    patch = objects.patch(nodeSelector={"b": "2"}, pod_metadata=both("patch"), job=both("patch"))
    node = objects.replicated(job_set_of(place, patch, job=job))["template"]
    pod = node["spec"]["template"]
    assert pod["spec"]["nodeSelector"] == {"a": "1", "b": "2"}
    merged = {
        "example.com/both": "patch",
        "example.com/patch": "patch",
        "example.com/runtime": "runtime",
    }
    assert (pod["metadata"]["labels"], pod["metadata"]["annotations"]) == (merged, merged)
    assert node["metadata"]["labels"] == {
        objects.ANCESTOR: "trainer",
        **both("patch")["labels"],
    }


@rule("4.3-security")
def test_security_contexts_are_merged(place: Place) -> None:
    container = objects.container(securityContext={"runAsUser": 1, "privileged": True})
    job = objects.job(containers=[container], securityContext={"runAsUser": 1, "fsGroup": 1})
    patch = objects.patch(
        containers=[{"name": "node", "securityContext": {"runAsUser": 2}}],
        securityContext={"runAsUser": 2},
    )
    pod = objects.pod_spec(job_set_of(place, patch, job=job))
    assert pod["securityContext"] == {"runAsUser": 2, "fsGroup": 1}
    assert pod["containers"][0]["securityContext"] == {"runAsUser": 2, "privileged": True}


@rule("4.3-affinity")
def test_affinity_is_merged_and_its_terms_are_replaced(place: Place) -> None:
    def term(key: str) -> JSON:
        return {"matchExpressions": [{"key": key, "operator": "Exists"}]}

    def affinity(*kinds: str, key: str) -> JSON:
        weighted = {"weight": 1, "preference": term(key)}
        values = {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term(key)]},
            "preferredDuringSchedulingIgnoredDuringExecution": [weighted],
        }
        return {"nodeAffinity": {kind: values[kind] for kind in kinds}}

    required, preferred = (
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
    )
    job = objects.job(affinity=affinity(required, preferred, key="runtime"))
    patch = objects.patch(affinity=affinity(preferred, key="patch"))
    merged = objects.pod_spec(job_set_of(place, patch, job=job))["affinity"]
    assert merged == {
        "nodeAffinity": {
            **affinity(required, key="runtime")["nodeAffinity"],
            **affinity(preferred, key="patch")["nodeAffinity"],
        }
    }


@rule("4.3-absent")
def test_what_a_patch_does_not_name_stays(place: Place) -> None:
    pod: JSON = {
        "serviceAccountName": "own",
        "terminationGracePeriodSeconds": 7,
        "nodeSelector": {"a": "1"},
        "tolerations": [{"key": "own", "operator": "Exists"}],
    }
    job_set = job_set_of(
        place, objects.patch(securityContext={"runAsUser": 2}), job=objects.job(**pod)
    )
    assert {key: objects.pod_spec(job_set)[key] for key in pod} == pod


@rule("4.3-ancestor")
def test_a_patch_of_a_jobs_labels_can_change_its_step(place: Place) -> None:
    jobs = [objects.job(), objects.job("other", None)]
    place.add(objects.runtime("runtime", *jobs))
    patches = [
        objects.patch(FIRST, "node", job={"labels": {objects.ANCESTOR: "none"}}),
        objects.patch(SECOND, "other", job={"labels": {objects.ANCESTOR: "trainer"}}),
    ]
    trainer = {"image": "example.com/mine:1"}
    place.add(objects.train_job(runtimePatches=patches, trainer=trainer))
    job_set = place.job_set()
    assert objects.only(job_set, "node")["image"] == "example.com/runtime:1"
    assert objects.only(job_set, "other")["image"] == "example.com/mine:1"
