"""Machine types: consistent with the catalog of accelerators, and found by name."""

from collections import Counter
from decimal import Decimal

from trainer_infra.api.quantity import parse_quantity
from trainer_infra.catalog.accelerators import find_accelerator
from trainer_infra.catalog.fabrics import FABRICS
from trainer_infra.catalog.machine_types import (
    MACHINE_TYPES,
    accelerator_resource,
    find_machine_type,
    machine_types_with,
    near_machine_types,
    room_for_pods,
)

EFA = {
    "p4d.24xlarge": 4,
    "p5.48xlarge": 32,
    "p5e.48xlarge": 32,
    "p5en.48xlarge": 16,
    "p6-b200.48xlarge": 8,
    "p6-b300.48xlarge": 16,
    "trn2.48xlarge": 16,
    "p5.4xlarge": 1,
    "g6.48xlarge": 1,
    "g5.xlarge": 0,
}


def test_a_row_agrees_with_the_other_tables() -> None:
    for machine in MACHINE_TYPES:
        found = find_accelerator(machine.accelerator)
        fabrics = [FABRICS[name] for name in machine.fabrics if name in FABRICS]
        of_google = [each.interfaces for each in fabrics if each.cloud == "gcp"]
        assert found is not None, machine
        assert found.name == machine.accelerator, machine
        assert len(fabrics) == len(machine.fabrics), machine
        assert ("efa" in machine.fabrics) == (machine.efa > 0), machine
        assert {each.cloud for each in fabrics} <= {None, machine.cloud}, machine
        assert of_google == [machine.networks] * len(of_google), machine
        assert find_machine_type(machine.name.upper()) is machine


def test_no_name_stands_twice() -> None:
    counts = Counter(each.name.lower() for each in MACHINE_TYPES)
    assert max(counts.values()) == 1
    assert {each.cloud for each in MACHINE_TYPES} == {"aws", "azure", "gcp"}


def test_efa_interfaces_are_those_of_the_published_table() -> None:
    found = {name: find_machine_type(name) for name in EFA}
    assert {name: machine and machine.efa for name, machine in found.items()} == EFA


def test_a_name_that_is_none_has_names_like_it() -> None:
    assert find_machine_type("a3-megagpu8g") is None
    assert near_machine_types("a3-megagpu8g")[0] == "a3-megagpu-8g"
    assert near_machine_types("m7i.large") == []


def test_machines_are_found_by_what_they_have() -> None:
    assert [each.name for each in machine_types_with("nvidia-h200", 8, "aws")] == [
        "p5e.48xlarge",
        "p5en.48xlarge",
    ]
    assert machine_types_with("nvidia-h200", 4, "aws") == []


def test_the_resource_is_the_vendors() -> None:
    names = ("nvidia-l4", "amd-mi300x", "aws-trainium2", "of-a-site")
    assert [accelerator_resource(each) for each in names] == [
        "nvidia.com/gpu",
        "amd.com/gpu",
        "aws.amazon.com/neuron",
        "nvidia.com/gpu",
    ]


def test_what_is_left_for_pods_follows_the_published_steps() -> None:
    # 4 GiB: a quarter of them, and 100 MiB; 4 cores: 6 %, 1 % and twice half a percent.
    assert room_for_pods(4, 4) == {"cpu": "3920m", "memory": "2972Mi"}
    assert room_for_pods(1, 4)["cpu"] == "940m"


def test_less_is_left_than_there_is() -> None:
    for machine in MACHINE_TYPES:
        room = room_for_pods(machine.cores, machine.memory)
        assert 0 < parse_quantity(room["cpu"]) < machine.cores, machine
        assert Decimal(0) < parse_quantity(room["memory"]) < machine.memory * 2**30, machine
