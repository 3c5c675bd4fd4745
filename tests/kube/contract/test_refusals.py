"""What a server refuses, and as what: alike by every client."""

from typing import Any

import pytest

from tests.kube import objects
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, LogOf, ObjectSelection
from trainer_infra.kube.loop import iterate_in_loop, run_in_loop
from trainer_infra.kube.refusals import Conflict, Invalid, NotFound, NotServed, TooLarge
from trainer_infra.kube.resource import CONFIG_MAP, POD, TRAIN_JOB, Resource

OTHER = "00000000-0000-0000-0000-000000000000"
UNKNOWN = Resource("example.com/v1", "Nothing", "nothings")


def with_metadata(value: JSONObject, **metadata: str) -> JSONObject:
    return {**value, "metadata": {**value["metadata"], **metadata}}


def test_a_stale_version_is_a_conflict(client: KubeClient, namespace: str) -> None:
    stale = run_in_loop(client.apply(objects.config_map(namespace, data={"x": "1"}), manager="m"))
    now = run_in_loop(client.apply(objects.config_map(namespace, data={"x": "2"}), manager="m"))
    value = with_metadata(
        objects.config_map(namespace, data={"x": "3"}),
        resourceVersion=stale["metadata"]["resourceVersion"],
    )
    with pytest.raises(Conflict) as refused:
        run_in_loop(client.apply(value, manager="m", force=True))

    assert refused.value.problems == ()
    assert "the object has been modified" in str(refused.value)
    assert run_in_loop(client.get(CONFIG_MAP, "a", namespace)) == now


def test_the_version_that_was_read_may_be_changed(client: KubeClient, namespace: str) -> None:
    read = run_in_loop(client.apply(objects.config_map(namespace, data={"x": "1"}), manager="m"))
    value = with_metadata(
        objects.config_map(namespace, data={"x": "2"}),
        resourceVersion=read["metadata"]["resourceVersion"],
        uid=read["metadata"]["uid"],
    )

    assert run_in_loop(client.apply(value, manager="m"))["data"] == {"x": "2"}


@pytest.mark.parametrize("make", [objects.config_map, objects.train_job])
def test_another_object_of_that_name_is_a_conflict(
    client: KubeClient, namespace: str, make: Any
) -> None:
    run_in_loop(client.apply(make(namespace), manager="m"))
    with pytest.raises(Conflict) as refused:
        run_in_loop(
            client.apply(with_metadata(make(namespace), uid=OTHER), manager="m", force=True)
        )

    assert refused.value.problems == ()


def test_an_object_that_is_gone_is_not_made_anew(client: KubeClient, namespace: str) -> None:
    value = with_metadata(objects.config_map(namespace), uid=OTHER)
    with pytest.raises(Conflict):
        run_in_loop(client.apply(value, manager="m"))
    with pytest.raises(NotFound):
        run_in_loop(client.get(CONFIG_MAP, "a", namespace))


@pytest.mark.parametrize("make", [objects.config_map, objects.secret])
def test_an_immutable_object_does_not_change(client: KubeClient, namespace: str, make: Any) -> None:
    value = make(namespace, data={"x": "MQ=="}, immutable=True)
    run_in_loop(client.apply(value, manager="m"))
    value = make(namespace, data={"x": "Mg=="}, immutable=True)
    with pytest.raises(Invalid) as refused:
        run_in_loop(client.apply(value, manager="m"))

    assert [(each.path, each.what) for each in refused.value.problems] == [
        ("data", "Forbidden: field is immutable when `immutable` is set")
    ]


def test_a_jobs_template_does_not_change(client: KubeClient, namespace: str) -> None:
    run_in_loop(client.apply(objects.job(namespace), manager="m"))
    value = objects.job(namespace, template=objects.pod_template(hostNetwork=True))
    with pytest.raises(Invalid) as refused:
        run_in_loop(client.apply(value, manager="m"))

    assert [each.path for each in refused.value.problems] == ["spec.template"]


def test_a_train_jobs_runtime_does_not_change(client: KubeClient, namespace: str) -> None:
    run_in_loop(client.apply(objects.train_job(namespace), manager="m"))
    value = objects.train_job(namespace, runtimeRef={"name": "other"})
    with pytest.raises(Invalid) as refused:
        run_in_loop(client.apply(value, manager="m"))

    assert refused.value.status == 422
    assert [each.path for each in refused.value.problems] == ["spec.runtimeRef"]
    assert "field is immutable" in refused.value.message


def test_an_unknown_kind_is_not_served(client: KubeClient, namespace: str) -> None:
    for value in (
        objects.of("v1", "Nothing", namespace, "a"),
        objects.of("example.com/v1", "Nothing", namespace, "a"),
    ):
        with pytest.raises(NotServed) as refused:
            run_in_loop(client.apply(value, manager="m"))
        assert f"does not serve Nothing of {value['apiVersion']}" in str(refused.value)
    with pytest.raises(NotServed):
        run_in_loop(client.get(UNKNOWN, "a", namespace))
    with pytest.raises(NotServed):
        run_in_loop(client.list(ObjectSelection(UNKNOWN, namespace)))
    with pytest.raises(NotServed):
        run_in_loop(client.delete(UNKNOWN, "a", namespace))
    with pytest.raises(NotServed):
        next(iterate_in_loop(client.watch(ObjectSelection(UNKNOWN, namespace), "1")))


@pytest.mark.parametrize("make", [objects.train_job, objects.job])
def test_a_name_over_63_is_invalid_where_that_is_the_limit(
    client: KubeClient, namespace: str, make: Any
) -> None:
    with pytest.raises(Invalid) as refused:
        run_in_loop(client.create(make(namespace, "a" * 64), manager="m"))

    assert "must be no more than 63 " in refused.value.message


@pytest.mark.parametrize("verb", ["create", "apply"])
@pytest.mark.parametrize("name", ["a" * 254, "A", "a_b", "-a"])
def test_a_name_that_no_object_may_have_is_invalid(
    client: KubeClient, namespace: str, verb: str, name: str
) -> None:
    do = client.create if verb == "create" else client.apply
    with pytest.raises(Invalid) as refused:
        run_in_loop(do(objects.config_map(namespace, name), manager="m"))

    assert {each.path for each in refused.value.problems} == {"metadata.name"}


def test_a_label_as_long_as_may_be_passes(client: KubeClient, namespace: str) -> None:
    made = run_in_loop(client.create(objects.config_map(namespace, "a" * 253), manager="m"))

    assert len(made["metadata"]["name"]) == 253


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_a_field_that_the_schema_does_not_know_is_invalid(
    client: KubeClient, namespace: str, verb: str
) -> None:
    do = client.create if verb == "create" else client.apply
    with pytest.raises(Invalid) as refused:
        run_in_loop(do(objects.train_job(namespace, trainingImage="x"), manager="m"))

    assert "trainingImage" in refused.value.message
    with pytest.raises(NotFound):
        run_in_loop(client.get(TRAIN_JOB, "a", namespace))


def test_a_value_that_the_schema_does_not_take_is_invalid(
    client: KubeClient, namespace: str
) -> None:
    with pytest.raises(Invalid):
        run_in_loop(
            client.create(objects.train_job(namespace, trainer={"numNodes": "2"}), manager="m")
        )


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_a_namespace_that_does_not_exist_is_not_found(client: KubeClient, verb: str) -> None:
    do = client.create if verb == "create" else client.apply
    with pytest.raises(NotFound) as refused:
        run_in_loop(do(objects.config_map("no-such-namespace"), manager="m"))

    assert 'namespaces "no-such-namespace" not found' in str(refused.value)


def test_a_list_of_a_namespace_that_does_not_exist_is_empty(client: KubeClient) -> None:
    assert run_in_loop(client.list(ObjectSelection(CONFIG_MAP, "no-such-namespace"))).items == ()


def test_a_kind_without_a_status_endpoint_has_none(client: KubeClient, namespace: str) -> None:
    value = objects.config_map(namespace, status={"x": "1"})
    run_in_loop(client.apply(objects.config_map(namespace), manager="m"))
    with pytest.raises(NotFound):
        run_in_loop(client.patch_status(value, manager="m"))


def test_the_status_of_what_does_not_exist_is_not_found(client: KubeClient, namespace: str) -> None:
    value = {**objects.job_set(namespace), "status": {"restarts": 1}}
    with pytest.raises(NotFound) as refused:
        run_in_loop(client.patch_status(value, manager="m"))

    assert 'jobsets.jobset.x-k8s.io "a" not found' in str(refused.value)


def test_a_config_map_over_a_mebibyte_is_too_large(client: KubeClient, namespace: str) -> None:
    value = objects.config_map(namespace, data={"x": "y" * (1024 * 1024 + 1)})
    with pytest.raises(TooLarge) as refused:
        run_in_loop(client.create(value, manager="m"))

    assert "may not be more than 1048576 bytes" in str(refused.value)
    fits = objects.config_map(namespace, data={"x": "y" * (1024 * 1024 - 10)})
    assert run_in_loop(client.create(fits, manager="m"))["metadata"]["uid"]


def test_an_object_that_the_store_does_not_take_is_too_large(
    client: KubeClient, namespace: str
) -> None:
    value = objects.train_job(namespace, trainer={"args": ["y" * 850_000] * 2})
    with pytest.raises(TooLarge) as refused:
        run_in_loop(client.create(value, manager="m"))

    assert "etcdserver: request is too large" in str(refused.value)


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_a_request_over_three_mebibytes_is_too_large(
    client: KubeClient, namespace: str, verb: str
) -> None:
    do = client.create if verb == "create" else client.apply
    value = objects.config_map(namespace, data={"x": "y" * (3 * 1024 * 1024)})
    with pytest.raises(TooLarge) as refused:
        run_in_loop(do(value, manager="m"))

    assert refused.value.status == 413


@pytest.mark.parametrize(("labels", "fields"), [("a in", ""), ("", "spec.foo=1"), ("", "data=1")])
def test_a_selector_that_cannot_be_is_invalid(
    client: KubeClient, namespace: str, labels: str, fields: str
) -> None:
    with pytest.raises(Invalid) as refused:
        run_in_loop(client.list(ObjectSelection(CONFIG_MAP, namespace, labels, fields)))

    assert refused.value.status == 400


def test_a_pod_that_does_not_exist_has_no_log(client: KubeClient, namespace: str) -> None:
    with pytest.raises(NotFound) as refused:
        next(iterate_in_loop(client.logs(LogOf(namespace, "none"))))

    assert 'pods "none" not found' in str(refused.value)


def test_a_container_that_the_pod_has_not_has_no_log(client: KubeClient, namespace: str) -> None:
    containers = [{"name": name, "image": "i"} for name in ("one", "two")]
    spec = {"serviceAccountName": "none", "containers": containers}
    value = objects.of("v1", "Pod", namespace, "a", spec=spec)
    account = objects.of("v1", "ServiceAccount", namespace, "none")
    if client.server != "memory:":
        run_in_loop(client.create(account, manager="m"))
    run_in_loop(client.create(value, manager="m"))
    with pytest.raises(Invalid) as refused:
        next(iterate_in_loop(client.logs(LogOf(namespace, "a", "three"))))
    assert "container three is not valid for pod a" in str(refused.value)
    with pytest.raises(Invalid) as refused:
        next(iterate_in_loop(client.logs(LogOf(namespace, "a"))))
    assert "choose one of: [one two]" in str(refused.value)
    run_in_loop(client.delete(POD, "a", namespace))
