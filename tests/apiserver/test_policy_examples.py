"""Examples of the rules on a real API server with Kueue's own CRDs.

The server takes what we call good, and `check --cluster` judges a file by the queues in the server.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster.client import DRY_RUN, STRICT, Client
from tests.cluster_programs import NewServer
from tests.review import checked
from trainer_infra import names
from trainer_infra.review import documents, live
from trainer_infra.rules import RULES, fixture

JSON = dict[str, Any]
QUEUED = next(each for each in fixture.shipped_cases("quota-fits") if "queue may ever" in each.name)
NAMESPACE = "vision"
ACCOUNTS = ("default", "train", "debug")
"""Those of the examples' pods. The server asks a second for one that is not there."""
NOT_SERVED = {
    *("argoproj.io", "batch.volcano.sh", "helm.toolkit.fluxcd.io", "kubeflow.org", "ray.io"),
    *("kustomize.config.k8s.io", "leaderworkerset.x-k8s.io", "scheduling.run.ai"),
    *("serving.kserve.io", "snapshot.storage.k8s.io", "sparkoperator.k8s.io"),
    "resource.k8s.io/v1beta1",
}
"""Groups of other projects, and a version that is off by default, all not in this server."""


@pytest.fixture(scope="module")
def cluster(
    own_api_server: NewServer, queue_kinds: Sequence[JSON]
) -> Iterator[tuple[Client, Path]]:
    """A server whose queues are those of the examples, and its administrator's kubeconfig."""
    with own_api_server(queue_kinds) as (address, kubeconfig), Client(address) as client:
        client.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for account in ACCOUNTS:
            path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
            client.create(path, {"metadata": {"name": account}})
        yield client, kubeconfig


def served(client: Client, api_version: str) -> Mapping[str, JSON]:
    """The kinds of an apiVersion, as the server describes them."""
    group = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    found = client.get(group).body["resources"]
    return {
        each["kind"]: {**each, "group": group} for each in found if "/" not in str(each["name"])
    }


def created(client: Client, value: Mapping[str, Any], **options: str) -> str:
    """What the server says against the object, in the namespace of the test if it has any."""
    resource = served(client, value["apiVersion"])[value["kind"]]
    scope, inside = "", value["metadata"]
    if resource["namespaced"]:
        scope, inside = f"/namespaces/{NAMESPACE}", {**inside, "namespace": NAMESPACE}
    path = f"{resource['group']}{scope}/{resource['name']}"
    answer = client.create(path, {**value, "metadata": inside}, **options)
    return "" if answer.body.get("reason") == "AlreadyExists" else answer.message


def test_the_server_takes_what_our_examples_call_good(cluster: tuple[Client, Path]) -> None:
    client, _ = cluster
    answers = {
        (rule.id, case.name, position): created(client, each, **STRICT, **DRY_RUN)
        for rule in RULES
        for case in fixture.shipped_cases(rule.id)
        for position, each in enumerate(case.objects(is_good=True))
        if not {each["apiVersion"], each["apiVersion"].partition("/")[0]} & NOT_SERVED
        # Only `kubectl debug` gives a pod one, and only when it runs.
        and "ephemeralContainers" not in each.get("spec", {})
        # No Go module of Volcano's has this CRD.
        and (each["apiVersion"], each["kind"]) != (names.VOLCANO_API_VERSION, "Queue")
    }
    refused = [f"{key}: {each}" for key, each in answers.items() if each]
    assert not refused, "\n".join(refused)
    assert len(answers) > len(RULES)


def test_a_job_is_judged_by_the_queues_of_the_cluster(cluster: tuple[Client, Path]) -> None:
    client, kubeconfig = cluster
    queues = QUEUED.objects(is_good=True)[1:]
    assert [created(client, each) for each in queues] == [""] * len(queues)
    there = live.read_live(str(kubeconfig), None).objects

    def judged(*, is_good: bool, queue: str) -> list[str]:
        text = json.dumps(QUEUED.objects(is_good=is_good)[0]).replace('"team"', f'"{queue}"')
        read = documents.read_documents(text, "job.json")
        found = checked.of(read, "quota-fits", "queue-chain", others=there)
        return [each.rule.id for each in found.items]

    assert judged(is_good=True, queue="team") == []
    assert judged(is_good=False, queue="team") == ["quota-fits"]
    assert judged(is_good=True, queue="nobodys") == ["queue-chain"]
