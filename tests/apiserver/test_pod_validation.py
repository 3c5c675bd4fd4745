"""Rules of admission find what a real API server refuses of a Job, and nothing that it takes."""

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest

from from_source.cluster.client import DRY_RUN, Client, Unreachable
from tests.apiserver.invalid_pods import compounds, mixed, valid_job, variations, varied
from tests.apiserver.pod_security_pods import Variation
from trainer_infra import names
from trainer_infra.rules import RULES, admission, tree, world
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.judge import ConfiguredRule, judge

JSON = dict[str, Any]
Told = tuple[str, Finding]

NAMESPACE: Final = "admission"
OWN: Final = {each.id for each in admission.RULES}
SEVERE: Final = [
    ConfiguredRule.default(each)
    for each in RULES
    if each.severity in (Severity.HIGH, Severity.CRITICAL)
]
TAKEN: Final = {
    "is less than a byte": "no process runs in less than a byte",
    "is less than 1Mi, in which nothing runs": "no process runs in so little memory",
    "must be Always, OnFailure or Never": "v1.34 drops it; where v1.35 knows the field, it is refused",
    "has a key of the labelSelector, too": "the Job is taken, each of its pods is refused",
}
"""What rules say all the same of what the API server takes, and why it is right."""


@pytest.fixture(scope="module")
def namespace(server: Client) -> Client:
    """A server with a namespace for the Jobs."""
    server.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    account = {"metadata": {"name": "default"}}
    server.create(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", account)
    return server


def job(spec: JSON) -> JSON:
    """A Job of the spec."""
    metadata = {"name": "digits", "namespace": NAMESPACE}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def jobset(spec: JSON) -> JSON:
    """A JobSet of one such Job."""
    return {
        "apiVersion": names.JOBSET_API_VERSION,
        "kind": names.JOBSET,
        "metadata": {"name": "digits", "namespace": NAMESPACE},
        "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": spec}}]},
    }


def made_by_jobset(spec: JSON) -> JSON:
    """The spec with what JobSet's webhook writes where nothing is written."""
    made = copy.deepcopy(spec)
    made.setdefault("completionMode", "Indexed")
    pod = made["template"]["spec"]
    pod["restartPolicy"] = pod.get("restartPolicy") or "OnFailure"
    return made


def refusal(client: Client, spec: JSON) -> str:
    """Why the server refuses the Job; empty where it takes it."""
    path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
    try:
        return client.create(path, job(spec), **DRY_RUN).message
    except Unreachable:
        # v1.34 panics where a successPolicy counts completions that are not written.
        return "no answer"


def findings(value: JSON) -> Sequence[Told]:
    """What severe rules find in the object, by the rule's id."""
    (subject,) = tree.subjects_of([value])
    verdicts = judge(subject, world.world_of([subject]), SEVERE)
    return [(each.chosen.rule.id, one) for each in verdicts for one in each.findings]


def disagreements(why: str, of_jobset: str, spec: JSON) -> Iterator[tuple[str, str, object]]:
    """Kind, and what the rules say otherwise than the server, which has said why it refuses each."""
    for value, said in ((job(spec), why), (jobset(spec), of_jobset)):
        found = findings(value)
        wrong = [one.what for rule, one in found if rule in OWN and one.what not in TAKEN]
        if said and not found:
            yield value["kind"], "not found", said
        elif wrong and not said:
            yield value["kind"], "taken", wrong


def test_nothing_is_wrong_with_the_job_that_all_differ_from(namespace: Client) -> None:
    spec = valid_job()
    assert refusal(namespace, spec) == ""
    assert [findings(each) for each in (job(spec), jobset(spec))] == [[], []]


@pytest.fixture(scope="module")
def taken(namespace: Client) -> Sequence[Variation]:
    """Variations that are valid alone."""
    return [each for each in variations() if not refusal(namespace, varied(each))]


def agree(client: Client, jobs: Sequence[tuple[Variation, ...]]) -> Counter[str]:
    """How many are refused and taken, after the rules have said the same of each."""
    other, seen = [], Counter[str]()
    for each in jobs:
        spec = varied(*each)
        why, of_jobset = (refusal(client, one) for one in (spec, made_by_jobset(spec)))
        seen["refused" if why else "taken"] += 1
        other += [(*said, each) for said in disagreements(why, of_jobset, spec)]
    print(dict(seen), f"of {len(jobs)} Jobs, {len(other)} judged otherwise")  # noqa: T201  how far
    assert other == []
    return seen


def test_what_the_api_server_refuses_is_found(namespace: Client) -> None:
    alone = [*((each,) for each in variations()), *compounds()]
    seen = agree(namespace, alone)
    assert (seen["refused"] > 900, seen["taken"] > 500) == (True, True)


def test_several_variations_are_judged_as_the_api_server_does(namespace: Client) -> None:
    assert agree(namespace, [*mixed(300, [*variations()])])["refused"] > 200


def test_several_valid_variations_are_taken_by_both(
    namespace: Client, taken: Sequence[Variation]
) -> None:
    assert agree(namespace, [*mixed(500, taken)])["taken"] > 400


def test_what_is_found_though_it_is_taken_is_found(taken: Sequence[Variation]) -> None:
    found = (one.what for each in taken for rule, one in findings(job(varied(each))) if rule in OWN)
    assert {*found} == {*TAKEN}


def test_pods_of_a_job_that_is_taken_are_refused(namespace: Client) -> None:
    pod = copy.deepcopy(valid_job()["template"])
    pod["metadata"]["name"] = "digits"
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    assert namespace.create(path, pod, **DRY_RUN).message == ""
    pod["spec"]["topologySpreadConstraints"][0]["matchLabelKeys"] = ["app"]
    assert "exists in both matchLabelKeys" in namespace.create(path, pod, **DRY_RUN).message
