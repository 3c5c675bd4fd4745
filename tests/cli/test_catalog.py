"""`trainer-infra catalog` shows the shipped runtimes."""

import json

import yaml

from tests.cli.command import Command
from trainer_infra import catalog


def test_the_table_has_a_line_for_each_with_what_it_is_for(shared_cli: Command) -> None:
    done = shared_cli("catalog")
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "NAME",
        *(each.name for each in catalog.RUNTIMES),
    ]
    assert lines[1].split()[-1] == "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"
    assert lines[6].endswith("ghcr.io/kubeflow/trainer/torchtune-trainer:v2.3.0 and 2 more")
    assert all(each.purpose in done.out for each in catalog.RUNTIMES)


def test_yaml_is_manifests_in_the_order_of_the_names(shared_cli: Command) -> None:
    names = ("mlx-distributed", "torch-distributed")
    done = shared_cli("catalog", *names, "-o", "yaml")
    assert list(yaml.safe_load_all(done.out)) == [catalog.get(name).to_wire() for name in names]


def test_json_is_one_list(shared_cli: Command) -> None:
    whole = json.loads(shared_cli("catalog", "-o", "json").out)
    assert whole["kind"] == "List"
    assert whole["items"] == [each.runtime().to_wire() for each in catalog.RUNTIMES]


def test_every_unknown_name_is_told_with_those_like_it(shared_cli: Command) -> None:
    done = shared_cli("catalog", "jax", "torch-distributed", "tensorflow")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        (
            "is not a runtime of the catalog, got 'jax'; did you mean jax-distributed? "
            "`trainer-infra catalog` lists all"
        ),
        "is not a runtime of the catalog, got 'tensorflow'; `trainer-infra catalog` lists all",
    ]
