"""Names, services and volumes in the cluster."""

from tests.cluster_tool.namespace import JSON, Namespace, jobset, pod

SERVED = "echo served > /tmp/index.html && exec httpd -f -p 80 -h /tmp"
ASKED = "until wget -q -O- http://{host}/ 2> /dev/null; do sleep 0.2; done"


def service(name: str, **spec: object) -> JSON:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80}], **spec},
    }


def test_a_service_and_the_api_server_answer_under_their_names(namespace: Namespace) -> None:
    asked = (
        ASKED.format(host="web")
        + " && wget -q -O- --no-check-certificate https://kubernetes.default/readyz"
    )
    namespace.apply(
        service("web"),
        pod("web", ["sh", "-c", SERVED]),
        pod("client", ["sh", "-c", asked]),
    )
    assert namespace.finished("client") == "served\nok"


def test_a_pod_behind_a_service_reaches_itself_by_it(namespace: Namespace) -> None:
    asking = f"({SERVED}) & {ASKED.format(host='web')}"
    namespace.apply(service("web"), pod("web", ["sh", "-c", asking]))
    assert namespace.finished("web") == "served\n"


def test_the_pods_of_a_jobset_find_one_another_and_it_completes(namespace: Namespace) -> None:
    server = "echo served > /tmp/index.html && httpd -p 80 -h /tmp && sleep 3"
    client = ASKED.format(host="tj-node-0-0.tj")
    command = f'if [ "$JOB_COMPLETION_INDEX" = 0 ]; then {server}; else {client}; fi'
    namespace.apply(jobset("tj", 2, ["sh", "-c", command]))
    namespace.wait("jobset/tj", "condition=Completed")
    assert namespace.run("logs", "--selector", "jobset.sigs.k8s.io/jobset-name=tj") == "served\n"


def test_jobsets_webhook_refuses_a_jobset(namespace: Namespace) -> None:
    wrong = jobset("tj", 2, ["true"])
    wrong["spec"]["successPolicy"] = {"operator": "All", "targetReplicatedJobs": ["other"]}
    said = namespace.apply(wrong, code=1)
    assert "invalid replicatedJob name 'other' does not appear in .spec.ReplicatedJobs" in said


def test_a_volume_of_the_default_class_is_shared_by_pods(namespace: Namespace) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared"},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Mi"}}},
    }
    pods = [
        pod("writer", ["sh", "-c", "echo written > /shared/part; mv /shared/part /shared/file"]),
        pod("reader", ["sh", "-c", "until cat /shared/file 2> /dev/null; do sleep 0.2; done"]),
    ]
    for each in pods:
        volume = {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}
        each["spec"]["volumes"] = [volume]
        mounts = [{"name": "shared", "mountPath": "/shared"}]
        each["spec"]["containers"][0]["volumeMounts"] = mounts
    namespace.apply(claim, *pods)
    assert namespace.finished("reader") == "written\n"
