"""Pods on the cluster: they run, and people can look into them."""

import json
from pathlib import Path

from from_source.cluster import images
from tests.cluster_tool.namespace import Namespace, pod


def test_a_pod_runs_to_its_end_and_its_log_can_be_read(namespace: Namespace) -> None:
    namespace.apply(pod("one", ["sh", "-c", "echo $((6 * 7))"]))
    assert namespace.finished("one") == "42\n"


def test_a_command_can_be_run_in_a_pod(namespace: Namespace) -> None:
    namespace.apply(pod("one", ["sleep", "60"]))
    namespace.wait("pod/one", "condition=Ready")
    assert namespace.run("exec", "one", "--", "hostname") == "one\n"


def test_a_folder_of_the_host_can_be_mounted(namespace: Namespace, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("here\n")
    mounted = pod("one", ["cat", "/data/data"])
    mounted["spec"]["volumes"] = [{"name": "data", "hostPath": {"path": str(tmp_path)}}]
    mounted["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    namespace.apply(mounted)
    assert namespace.finished("one") == "here\n"


def test_an_image_made_here_runs_under_its_name(namespace: Namespace, tmp_path: Path) -> None:
    name = "trainer-infra.local/test:1"
    for said in ("first\n", "second\n"):
        (tmp_path / "root").mkdir(exist_ok=True)
        (tmp_path / "root" / "said").write_text(said)
        images.archive(tmp_path / "image.tar", name, tmp_path / "root", config={})
        assert images.loaded(name, tmp_path / "image.tar") == name
        assert images.loaded(name, tmp_path / "image.tar") == name
    reading = pod("one", ["cat", "/image/said"])
    reading["spec"]["volumes"] = [{"name": "tools", "emptyDir": {}}]
    tools = [{"name": "tools", "mountPath": "/tools"}]
    reading["spec"]["initContainers"] = [
        {
            **reading["spec"]["containers"][0],
            "name": "tools",
            "command": ["cp", "/bin/busybox", "/tools/busybox"],
            "volumeMounts": tools,
        }
    ]
    reading["spec"]["containers"][0] |= {
        "image": name,
        "command": ["/tools/busybox", "cat", "/said"],
        "volumeMounts": tools,
    }
    namespace.apply(reading)
    assert namespace.finished("one") == "second\n"


def test_an_image_that_nobody_has_is_named_at_once(namespace: Namespace) -> None:
    waiting = pod("one", ["true"])
    waiting["spec"]["containers"][0] |= {
        "image": "none.invalid/none:1",
        "imagePullPolicy": "Always",
    }
    namespace.apply(waiting)
    reason = "{.status.containerStatuses[0].state.waiting.reason}"
    namespace.wait("pod/one", f"jsonpath={reason}=ErrImagePull", seconds=10)


def test_a_container_over_its_memory_limit_is_ended_for_that(namespace: Namespace) -> None:
    greedy = pod("one", ["tail", "/dev/zero"])
    greedy["spec"]["containers"][0]["resources"] = {"limits": {"memory": "20Mi"}}
    namespace.apply(greedy)
    namespace.wait("pod/one", "jsonpath={.status.phase}=Failed")
    (status,) = json.loads(namespace.run("get", "pod", "one", "--output", "json"))["status"][
        "containerStatuses"
    ]
    assert status["state"]["terminated"]["reason"] == "OOMKilled"
