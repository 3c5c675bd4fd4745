"""The parts of a run as tables: its steps with their counts, its nodes with hosts and GPUs. Pure."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.cli import table
from trainer_infra.cli.screen import PHASES, Screen
from trainer_infra.cli.table import Column
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Node, Run

NODES: Final = (
    Column("STEP"),
    Column("POD"),
    Column("HOST", optional=True),
    Column("GPUS", optional=True),
    Column("PHASE", styles=PHASES),
    Column("RESTARTS"),
    Column("PROGRESS"),
    Column("METRICS", optional=True, folds=True),
)
COUNTS: Final = ("ready", "active", "succeeded", "failed", "suspended")
"""Of a step's jobs, as `status.jobsStatus` has them."""
STEPS: Final = (Column("STEP"), *(Column(each.upper()) for each in COUNTS))


def node_rows(run: Run, screen: Screen) -> Iterator[str]:
    """A row per pod of the trainer step; hosts and GPUs only where there are any."""
    return table.table_lines(NODES, [_node(run, each) for each in run.nodes], screen)


def step_rows(run: Run, screen: Screen) -> Iterator[str]:
    """A row per step with the number of its jobs in each state."""
    found = run.status.get("jobsStatus") or ()
    rows = [(each["name"], *(str(each.get(count, 0)) for count in COUNTS)) for each in found]
    return table.table_lines(STEPS, rows, screen)


def _node(run: Run, node: Node) -> tuple[str, ...]:
    return (
        node.step or sentences.short_pod_name(run, node.pod).rsplit("-", 2)[0],
        node.pod,
        node.host,
        str(node.gpus or ""),
        node.phase,
        str(node.restarts),
        "" if node.progress is None else f"{node.progress}%",
        sentences.metrics_line(node.metrics),
    )
