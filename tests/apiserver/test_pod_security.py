"""Rules of the Pod Security Standards say what a real API server's admission of that level says."""

from collections.abc import Sequence
from typing import Any

import pytest

from from_source.cluster.client import DRY_RUN, Client
from tests.apiserver.pod_security_pods import Variation, compounds, mixed, variations, varied
from trainer_infra import names
from trainer_infra.rules import RULES, tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.pack import Selection

JSON = dict[str, Any]
LEVELS = ("baseline", "restricted")
RULES_OF = {
    level: [
        ConfiguredRule.default(each)
        for each in RULES
        if Selection(frameworks=tuple(f"pod-security-standards/{one}" for one in up_to)).has(each)
    ]
    for level, up_to in (("baseline", LEVELS[:1]), ("restricted", LEVELS))
}
_CONTEXT = ("spec", "securityContext")
BEYOND: Sequence[tuple[str, Variation]] = (
    ("run-as-non-root", ((*_CONTEXT, "runAsGroup"), 0)),
    ("run-as-non-root", ((*_CONTEXT, "fsGroup"), 0)),
    ("run-as-non-root", ((*_CONTEXT, "supplementalGroups"), [0])),
    (
        "run-as-non-root",
        ((*_CONTEXT, "windowsOptions"), {"runAsUserName": "ContainerAdministrator"}),
    ),
    (
        "app-armor",
        ((*_CONTEXT, "appArmorProfile"), {"type": "Localhost", "localhostProfile": "unconfined"}),
    ),
    (
        "volume-types",
        (("spec", "volumes"), [{"name": "a", "csi": {"driver": "nfs.csi.k8s.io"}}]),
    ),
)
"""What is the same as something that a level refuses, and what the level does not look at."""


@pytest.fixture(scope="module")
def namespaces(server: Client) -> Client:
    """A server with a namespace of each level."""
    for level in LEVELS:
        labels = {"pod-security.kubernetes.io/enforce": level}
        server.create("/api/v1/namespaces", {"metadata": {"name": level, "labels": labels}})
        account = {"metadata": {"name": "default"}}
        server.create(f"/api/v1/namespaces/{level}/serviceaccounts", account)
    return server


def admission(client: Client, level: str, pod: JSON) -> str:
    """`admitted`, `refused` by the level, or `invalid`, which says nothing of the level."""
    reply = client.create(f"/api/v1/namespaces/{level}/pods", pod, **DRY_RUN)
    if "violates PodSecurity" in reply.message:
        return "refused"
    return "admitted" if not reply.message else "invalid"


def findings(level: str, pod: JSON) -> Sequence[str]:
    """Ids of the level's rules that find something in a JobSet of such pods."""
    template = {key: pod[key] for key in ("metadata", "spec")}
    template["metadata"] = {key: each for key, each in pod["metadata"].items() if key != "name"}
    jobset = {
        "apiVersion": names.JOBSET_API_VERSION,
        "kind": names.JOBSET,
        "metadata": {"name": "digits", "namespace": level},
        "spec": {
            "replicatedJobs": [{"name": "node", "template": {"spec": {"template": template}}}]
        },
    }
    (subject,) = tree.subjects_of([jobset])
    verdicts = judge(subject, world.world_of([subject]), RULES_OF[level])
    return [each.chosen.rule.id for each in verdicts if each.findings]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("how", ["one variation", "several"])
def test_a_level_is_what_the_api_server_admits(namespaces: Client, level: str, how: str) -> None:
    each_alone = [*((each,) for each in variations()), *compounds()]
    chosen = each_alone if how == "one variation" else list(mixed(300))
    seen = {"admitted": 0, "refused": 0, "invalid": 0}
    other = []
    for each in chosen:
        pod = varied(*each)
        answer = admission(namespaces, level, pod)
        seen[answer] += 1
        found = findings(level, pod)
        if answer != "invalid" and bool(found) != (answer == "refused"):
            other.append((answer, found, each))
    assert other == []
    assert min(seen["admitted"], seen["refused"]) > 20


@pytest.mark.parametrize(("rule", "variation"), BEYOND)
def test_rules_say_more_where_a_level_admits_the_same_in_another_form(
    namespaces: Client, rule: str, variation: Variation
) -> None:
    pod = varied(variation)
    assert admission(namespaces, "restricted", pod) == "admitted"
    assert findings("restricted", pod) == [rule]
