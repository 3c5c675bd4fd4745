"""Command lines of launchers are judged as lines.yaml says, and those that are right are left alone."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainer_infra.render.command_lines import launch_faults, program
from trainer_infra.render.command_lines.node_counts import TrainingNodes
from trainer_infra.render.command_lines.references import ContainerVariables

SITUATIONS = yaml.safe_load((Path(__file__).parent / "lines.yaml").read_text())
OF_TORCH = {
    "PET_NNODES": "2",
    "PET_NPROC_PER_NODE": "auto",
    "PET_NODE_RANK": None,
    "PET_MASTER_ADDR": None,
    "PET_MASTER_PORT": "29500",
}
OF_JAX = {"JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": None, "JAX_COORDINATOR_ADDRESS": None}
OWN = {"JOB": "tj", "NP": "6", "DATA_DIR": "/data"}


def situation(of: dict[str, Any]) -> tuple[TrainingNodes, ContainerVariables]:
    numbers = {each: of[each] for each in ("nodes", "devices", "slots") if each in of}
    values = {"torch": OF_TORCH, "jax": OF_JAX}.get(of["policy"], {})
    return TrainingNodes(of["policy"], **numbers), ContainerVariables({**OWN, **values})


def said(line: str, of: dict[str, Any]) -> list[str]:
    nodes, variables = situation(of)
    words = shlex.split(line)
    found = launch_faults.launch_faults_of(
        program.read_command_line(words, variables), words, nodes, variables
    )
    return [f"{words[each.item]}: {each.what} -> {each.fix}" for each in found]


def lines(kind: str) -> list[Any]:
    return [
        pytest.param(of, line, id=f"{of['policy'] or 'plain'} {of['nodes']}: {line}")
        for of in SITUATIONS
        for line in of.get(kind, ())
    ]


@pytest.mark.parametrize(("of", "line"), lines("right"))
def test_a_right_line_is_left_alone(of: dict[str, Any], line: str) -> None:
    assert said(line, of) == []
    nodes, variables = situation(of)
    assert not launch_faults.is_unread(
        program.read_command_line(shlex.split(line), variables), nodes
    )


@pytest.mark.parametrize(("of", "line"), lines("wrong"))
def test_a_wrong_line_is_told_with_what_to_do(of: dict[str, Any], line: str) -> None:
    (only,) = said(line, of)
    assert of["wrong"][line] in only.partition(" -> ")[0]
    assert only.partition(" -> ")[2]


@pytest.mark.parametrize(("of", "line"), lines("unread"))
def test_a_line_that_cannot_be_read_is_said_to_be_unread(of: dict[str, Any], line: str) -> None:
    assert said(line, of) == []
    nodes, variables = situation(of)
    assert launch_faults.is_unread(program.read_command_line(shlex.split(line), variables), nodes)


def test_the_table_is_as_long_as_it_was_to_be() -> None:
    assert (len(lines("right")) >= 60, len(lines("wrong")) >= 60) == (True, True)
