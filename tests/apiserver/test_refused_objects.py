"""What Kueue, JobSet and their CRDs refuse is a severe finding, and what they take is none without a reason."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest

from from_source.cluster.client import DRY_RUN, STRICT, Client
from tests.apiserver import admission_managers, invalid_jobsets, invalid_queues
from tests.apiserver.variations import Variation
from tests.cluster_programs import NewServer
from tests.review import checked
from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.rules import RULES

GROUPS: Final = ("shape", "scheduling")
"""Groups of rules that say what is refused."""
CHOSEN: Final = [each.id for each in RULES if each.tags[0] in GROUPS]
INVALID: Final = (*invalid_queues.INVALID, *invalid_jobsets.INVALID)
VALID: Final = (*invalid_queues.VALID, *invalid_jobsets.VALID)
TAKEN_WITH_A_REASON: Final = (
    # No controller can read a number that is too wide for its type.
    (Variation(invalid_queues.PRIORITY, "value", 2**31), "schema"),
    # A job that waits for itself never starts.
    (
        Variation(invalid_jobsets.PLAIN, "spec replicatedJobs 1 dependsOn 0 name", "node"),
        "depends-on",
    ),
    # No namespace is selected.
    (Variation(invalid_queues.LONELY_QUEUE, "spec namespaceSelector", None), "queue-chain"),
)
"""What the server takes, and the rule that says why it is wrong."""
PLURALS: Final = {
    names.ADMISSION_CHECK: "admissionchecks",
    names.JOBSET: "jobsets",
    "WorkloadPriorityClass": "workloadpriorityclasses",
    names.KUEUE_TOPOLOGY: "topologies",
}
NAMESPACED: Final = (names.JOBSET, names.LOCAL_QUEUE, names.WORKLOAD)


@pytest.fixture(scope="module")
def managed(
    own_api_server: NewServer,
    kueue_definitions: Sequence[JSONObject],
) -> Iterator[Client]:
    with admission_managers.running(own_api_server, kueue_definitions) as client:
        yield client


@pytest.fixture(scope="module")
def agreement() -> Iterator[Counter[bool]]:
    """Whether the server and the rules say the same, counted and printed."""
    counted: Counter[bool] = Counter()
    yield counted
    sys.stdout.write(f"\nserver and rules agree on {counted[True]} of {counted.total()} objects\n")


def refusal(client: Client, variation: Variation) -> str:
    """What the server has against the object; empty where it takes it."""
    value = variation.whole()
    kind = value["kind"]
    scope = "/namespaces/default" if kind in NAMESPACED else ""
    plural = PLURALS.get(kind, f"{kind.lower()}s")
    path = f"/apis/{value['apiVersion']}{scope}/{plural}"
    return client.create(path, value, **STRICT, **DRY_RUN).message


def severe(variation: Variation) -> list[tuple[str, str]]:
    """Rule and clause of what fails a check of the object."""
    report = checked.of([checked.document(dict(variation.whole()))], *CHOSEN)
    return [(each.rule.id, each.clause()) for each in report.failing()]


def named(value: Any) -> str | None:
    return value.name if isinstance(value, Variation) else None


@pytest.mark.parametrize("variation", INVALID, ids=named)
def test_what_is_refused_is_a_severe_finding(
    managed: Client, agreement: Counter[bool], variation: Variation
) -> None:
    refused, found = refusal(managed, variation), severe(variation)
    agreement[bool(refused) == bool(found)] += 1
    assert refused != ""
    assert found != []


@pytest.mark.parametrize("variation", VALID, ids=named)
def test_what_is_taken_is_none(
    managed: Client, agreement: Counter[bool], variation: Variation
) -> None:
    refused, found = refusal(managed, variation), severe(variation)
    agreement[bool(refused) == bool(found)] += 1
    assert refused == ""
    assert found == []


@pytest.mark.parametrize(("variation", "rule"), TAKEN_WITH_A_REASON, ids=named)
def test_what_is_taken_and_cannot_work_is_a_finding(
    managed: Client, variation: Variation, rule: str
) -> None:
    assert refusal(managed, variation) == ""
    assert {each for each, _ in severe(variation)} == {rule}
