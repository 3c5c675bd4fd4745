"""Ports of a container when a plugin adds one: told apart by number, or as the reference does."""

from trainer_infra.render.draft import upsert_ports

NEW = [{"containerPort": 29500}]


def test_q17_ports_are_told_apart_by_number_and_by_a_name_that_both_have() -> None:
    unnamed = [{"containerPort": 8080}, {"containerPort": 9090}]
    named = [{"containerPort": 1, "name": "a"}]
    assert upsert_ports(unnamed, NEW) == (*unnamed, *NEW)
    assert upsert_ports(named, [{"containerPort": 2, "name": "a"}]) == (
        {"containerPort": 2, "name": "a"},
    )


def test_q17_the_reference_takes_two_unnamed_ports_for_the_same() -> None:
    unnamed = [{"containerPort": 8080}, {"containerPort": 9090}]
    found = upsert_ports(unnamed, NEW, unnamed_are_same=True)
    assert found == ({"containerPort": 29500}, {"containerPort": 9090})
    assert upsert_ports(found, found, unnamed_are_same=True) == (
        {"containerPort": 9090},
        {"containerPort": 9090},
    )
