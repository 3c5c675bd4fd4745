"""The Roles of docs/kubernetes.md are the table of `cluster.rights`."""

from tests.cluster.roles import on_the_page
from trainer_infra.cluster.rights import ROLES, Right

PREFIX = "trainer-infra-"
OF_THE_CLUSTER = {"nodes", "gc", "cluster-runtime-names", "cluster-runtimes"}
"""Purposes that no Role of one namespace can serve."""


def test_the_page_has_the_rights_of_every_purpose() -> None:
    shown = {
        each["metadata"]["name"].removeprefix(PREFIX): {
            Right(verb, resource, group)
            for rule in each["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }
        for each in on_the_page()
    }
    plain = {
        purpose: {Right(each.verb, each.resource, each.group) for each in rights}
        for purpose, rights in ROLES.items()
    }
    assert shown == plain


def test_what_needs_a_role_of_the_cluster_has_one() -> None:
    kinds = {each["metadata"]["name"]: each["kind"] for each in on_the_page()}
    assert kinds == {
        f"{PREFIX}{purpose}": "ClusterRole" if purpose in OF_THE_CLUSTER else "Role"
        for purpose in ROLES
    }
