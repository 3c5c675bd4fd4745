from typing import Any

from tests.local.jobset.worlds import T0, jobset, replicated, start
from trainer_infra.local.jobset import pods
from trainer_infra.local.jobset.pods import PodId, Start

INDEX_ENV = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {
        "fieldRef": {
            "fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"
        }
    },
}


def test_pods_come_in_template_order_replica_outer_index_inner() -> None:
    spec = jobset(replicated("launcher"), replicated("node", 2, replicas=2))
    assert pods.pod_ids(spec) == (
        PodId("launcher", 0, 0),
        PodId("node", 0, 0),
        PodId("node", 0, 1),
        PodId("node", 1, 0),
        PodId("node", 1, 1),
    )


def test_the_subdomain_of_a_host_name_is_the_jobset_s_name_or_the_network_s_own() -> None:
    spec = jobset(replicated("node", 2))
    assert pods.host_names("tj", spec) == ("tj-node-0-0.tj", "tj-node-0-1.tj")
    spec["network"] = {"subdomain": "net"}
    assert pods.host_names("tj", spec) == ("tj-node-0-0.net", "tj-node-0-1.net")


def test_what_a_spec_leaves_out_is_one_replica_with_one_pod() -> None:
    assert pods.pod_ids({"replicatedJobs": [{"name": "node", "template": {}}]}) == (
        PodId("node", 0, 0),
    )


def test_parallelism_is_the_number_of_indexes_when_completions_are_not_given() -> None:
    job = {"name": "node", "template": {"spec": {"parallelism": 2.0}}}
    assert len(pods.pod_ids({"replicatedJobs": [job]})) == 2


def test_a_manifest_is_the_template_with_what_both_controllers_add() -> None:
    labels = {
        "app": "mine",
        "jobset.sigs.k8s.io/jobset-name": "tj",
        "jobset.sigs.k8s.io/jobset-uid": "u1",
        "jobset.sigs.k8s.io/replicatedjob-name": "node",
        "jobset.sigs.k8s.io/restart-attempt": "2",
        "jobset.sigs.k8s.io/replicatedjob-replicas": "1",
        "jobset.sigs.k8s.io/global-replicas": "3",
        "jobset.sigs.k8s.io/job-index": "0",
        "jobset.sigs.k8s.io/job-key": "0bcd740d11c56fdbf8216fcf7513d26c028a66d7",
        "jobset.sigs.k8s.io/job-global-index": "2",
        "jobset.sigs.k8s.io/group-name": "default",
        "jobset.sigs.k8s.io/group-replicas": "3",
        "jobset.sigs.k8s.io/job-group-index": "2",
        "jobset.sigs.k8s.io/coordinator": "tj-node-0-0.tj",
    }
    annotations = {**labels, "note": "x", "batch.kubernetes.io/job-completion-index": "1"}
    del annotations["app"]
    node = replicated("node", 2)
    node["template"]["spec"]["template"]["metadata"] = {
        "labels": {"app": "mine"},
        "annotations": {"note": "x"},
    }
    whole = {
        "metadata": {"name": "tj", "namespace": "ns", "uid": "u1"},
        "spec": jobset(replicated("init", replicas=2), node, coordinator={"replicatedJob": "node"}),
    }
    assert pods.manifest(whole, start("node", 1, attempt=2)) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "tj-node-0-1",
            "namespace": "ns",
            "labels": {
                **labels,
                "batch.kubernetes.io/job-name": "tj-node-0",
                "job-name": "tj-node-0",
                "batch.kubernetes.io/job-completion-index": "1",
            },
            "annotations": annotations,
        },
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "node", "env": [INDEX_ENV]}],
            "hostname": "tj-node-0-1",
            "subdomain": "tj",
        },
    }


def test_labels_tell_each_job_s_place_in_its_replicated_job_its_group_and_the_jobset() -> None:
    other = {**replicated("other", replicas=3), "groupName": "others"}
    spec = jobset(other, replicated("init"), replicated("node", replicas=2))
    whole = {"metadata": {"name": "tj"}, "spec": spec}
    labels = pods.manifest(whole, Start(PodId("node", 1, 0), 0, 0, T0))["metadata"]["labels"]
    places = ("job-index", "job-global-index", "job-group-index", "group-replicas")
    assert [labels[f"jobset.sigs.k8s.io/{place}"] for place in places] == ["1", "5", "2", "3"]


def test_an_index_variable_of_the_user_s_own_is_kept() -> None:
    own = {"name": "JOB_COMPLETION_INDEX", "value": "7"}
    assert _containers({"name": "node", "env": [own]}) == [{"name": "node", "env": [own]}]


def test_a_manifest_shares_nothing_with_the_template_that_it_changes() -> None:
    container: dict[str, Any] = {"name": "node", "env": [{"name": "A", "value": "1"}]}
    assert _containers(container)[0]["env"] == [{"name": "A", "value": "1"}, INDEX_ENV]
    assert container == {"name": "node", "env": [{"name": "A", "value": "1"}]}


def test_restart_policy_is_on_failure_when_not_given() -> None:
    assert _manifest({"name": "node"})["spec"]["restartPolicy"] == "OnFailure"


def test_a_pod_that_mounts_a_claim_of_the_jobset_s_policies_gets_its_volume() -> None:
    policies = [
        {"templates": [{"metadata": {"name": "data"}}, {"metadata": {"name": "unused"}}]},
    ]
    container = {"name": "node", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    manifest = _manifest(container, volumeClaimPolicies=policies)
    assert manifest["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-tj"}}
    ]


def test_without_dns_host_names_a_pod_has_no_subdomain() -> None:
    manifest = _manifest({"name": "node"}, network={"enableDNSHostnames": False})
    assert "subdomain" not in manifest["spec"]


def _manifest(container: Any, **spec: Any) -> Any:
    job = {
        "name": "node",
        "template": {"spec": {"template": {"spec": {"containers": [container]}}}},
    }
    whole = {"metadata": {"name": "tj"}, "spec": {"replicatedJobs": [job], **spec}}
    return pods.manifest(whole, start("node"))


def _containers(container: Any) -> Any:
    return _manifest(container)["spec"]["containers"]
