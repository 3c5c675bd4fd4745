"""What a pod asks of a node: Kubernetes' sum over its containers."""

from typing import Any

from trainer_infra.render import resources


def container(restart: str | None = None, **requests: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": "c", "resources": {"requests": requests}}
    return {**found, "restartPolicy": restart} if restart else found


def single(pod: dict[str, Any], *, defaulted: bool = False) -> dict[str, str]:
    found = resources.requests_of_pod(pod, defaulted=defaulted)
    return {name: str(each) for name, each in found.items()}


def test_containers_add_up() -> None:
    pod = {"containers": [container(cpu="500m", memory="1Gi"), container(cpu="1"), {"name": "c"}]}
    assert single(pod) == {"cpu": "1500m", "memory": "1Gi"}


def test_an_init_container_counts_where_it_asks_for_more() -> None:
    pod = {
        "containers": [container(cpu="1", memory="4Gi")],
        "initContainers": [container(cpu="3"), container(cpu="2", memory="1Gi")],
    }
    assert single(pod) == {"cpu": "3", "memory": "4Gi"}


def test_a_sidecar_adds_up_and_is_there_for_the_init_containers_after_it() -> None:
    pod = {
        "containers": [container(cpu="1")],
        "initContainers": [
            container(cpu="4"),
            container("Always", cpu="2"),
            container(cpu="3"),
        ],
    }
    assert single(pod) == {"cpu": "5"}


def test_the_pods_own_requests_replace_the_sum() -> None:
    pod = {
        "containers": [container(cpu="1", memory="1Gi", **{"nvidia.com/gpu": "1"})],
        "resources": {
            "requests": {"cpu": "8", "hugepages-2Mi": "4Mi", "nvidia.com/gpu": "9"},
        },
    }
    assert single(pod) == {
        "cpu": "8",
        "memory": "1Gi",
        "nvidia.com/gpu": "1",
        "hugepages-2Mi": "4Mi",
    }


def test_overhead_comes_on_top() -> None:
    pod = {"containers": [container(cpu="1")], "overhead": {"cpu": "250m", "memory": "120Mi"}}
    assert single(pod) == {"cpu": "1250m", "memory": "120Mi"}


def test_a_limit_is_a_request_only_when_asked_for() -> None:
    limits = {"limits": {"cpu": 2, "memory": "1Gi"}, "requests": {"cpu": 1}}
    pod = {"containers": [{"name": "c", "resources": limits}]}
    assert single(pod) == {"cpu": "1"}
    assert single(pod, defaulted=True) == {"cpu": "1", "memory": "1Gi"}
