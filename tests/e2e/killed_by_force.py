"""A training of two nodes that is killed by force again and again: where it goes on each time, and how soon."""

import json
import random
import re
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import pytest

from tests.deploy.project import Stack
from tests.e2e.jobs import eventually

EVERY: Final = 5
"""Steps of `TRAINING` from one save to the next."""
TRAINING: Final = """
from trainer_infra import Checkpoint, FaultTolerance, catalog, with_fault_tolerance

def count(pause):
    import os, time
    from trainer_infra.checkpoint import Checkpointer
    from trainer_infra.storage import output
    said, ends = "node " + os.environ["JOB_COMPLETION_INDEX"], os.path.join(output("ends"), "now")
    checkpointer = Checkpointer()
    state = checkpointer.restore({"step": 0, "sum": 0})
    print(said, "begins at", state["step"], time.time(), flush=True)
    while not os.path.exists(ends):
        time.sleep(pause)
        step = state["step"]
        state = {"step": step + 1, "sum": state["sum"] + step}
        checkpointer.step(step + 1, state)
        print(said, "has done", step + 1, time.time(), flush=True)
    print(said, "ends with", state["step"], state["sum"], flush=True)

def counting(saves, **arguments):
    tolerance = FaultTolerance(max_restarts=100, uncounted_exit_codes=(143,))
    runtime = with_fault_tolerance(catalog.get("plain-distributed"), tolerance)
    saving = dict(checkpoint=Checkpoint(every=5, save_seconds=5)) if saves else {}
    trainer = CustomTrainer(count, func_args={"pause": 0.2}, num_nodes=2, **arguments)
    return dict(runtime=runtime.to_wire(), trainer=trainer, **saving)
"""
_SAID: Final = re.compile(r"node (\d) (begins at|has done) (\d+) ([\d.]+)")


@dataclass(frozen=True)
class Line:
    """What a node said."""

    node: int
    begins: bool
    step: int
    at: float
    """Seconds since 1970."""


@dataclass
class Struck:
    """A run, and what came of each strike."""

    stack: Stack
    name: str
    place: tuple[str, ...] = ()
    """Options that find it."""
    saves: bool = True
    seconds: list[float] = field(default_factory=list)
    """From each strike to the node's next step."""
    said: set[Line] = field(default_factory=set)
    """All that was ever said: a pod takes its log with it."""

    def strike(self, kill: Callable[[int], None], node: int) -> None:
        """Kill a node once it is at it, and see from where it goes on."""
        eventually(partial(self._is_at_it, node))
        at = time.time()
        kill(node)
        again, first = eventually(partial(self._goes_on, node, at))
        reached = max(each.step for each in self._of(node) if each.at <= at)
        # The save of the last interval may not have been done.
        assert again.step >= (reached - 2 * EVERY if self.saves else 0), (reached, again)
        self.seconds.append(first.at - at)

    def run(self) -> dict[str, Any]:
        """What `get` says of it."""
        return dict(json.loads(self.stack.trainer("get", self.name, *self.place, "-o", "json")))

    def look(self) -> str:
        """What the pods that are there have said."""
        text = self.stack.trainer("logs", self.name, *self.place)
        for node, what, step, at in _SAID.findall(text):
            self.said.add(Line(int(node), what == "begins at", int(step), float(at)))
        return text

    def _of(self, node: int) -> list[Line]:
        return sorted((each for each in self.said if each.node == node), key=lambda each: each.at)

    def _is_at_it(self, node: int) -> bool:
        """Whether it has done some steps since it began last."""
        self.look()
        lines = self._of(node)
        begun = max((at for at, each in enumerate(lines) if each.begins), default=len(lines))
        return len(lines) - begun > EVERY + random.randrange(2 * EVERY)

    def _goes_on(self, node: int, after: float) -> tuple[Line, Line] | None:
        """With what it began again, and its first step then."""
        self.look()
        lines = [each for each in self._of(node) if each.at > after]
        begins = [at for at, each in enumerate(lines) if each.begins]
        last = begins[-1] if begins else len(lines)
        return (lines[last], lines[last + 1]) if len(lines) > last + 1 else None


Kill = Callable[[Struck, int], None]
ONE_HOUR: Final = pytest.mark.timeout(3600)
TIMES = pytest.mark.parametrize("times", [3, pytest.param(50, marks=[pytest.mark.soak, ONE_HOUR])])


def strike(struck: Mapping[str, Struck], ways: Mapping[str, Kill], times: int) -> None:
    """Kill each run as often, in all ways in turn, and show the figures."""
    drawn = random.Random(times)
    for number in range(times):
        kill = ways[[*ways][number % len(ways)]]
        for each in struck.values():
            each.strike(partial(kill, each), drawn.randrange(2))
    print(figures(struck))  # noqa: T201  what the test is run for


def completed(struck: Struck) -> None:
    """See that both nodes have done every step once when they come to their end."""
    eventually(lambda: phase(struck) in {"Complete", "Failed"})
    ends = ended(struck.look())
    assert (phase(struck), len(ends)) == ("Complete", 2)
    assert all(sum_ == step * (step - 1) // 2 for step, sum_ in ends), ends


def phase(struck: Struck) -> str:
    """What `get` says that it is."""
    return str(struck.run()["phase"])


def figures(struck: Mapping[str, Struck]) -> str:
    """Seconds from a kill to the next step, as JSON."""
    found = {}
    for name, each in struck.items():
        every = sorted(each.seconds)
        found[name] = {
            "kills": len(every),
            "median": round(statistics.median(every), 2),
            "p95": round(every[-(-95 * len(every) // 100) - 1], 2),
        }
    return json.dumps(found)


def ended(text: str) -> list[tuple[int, int]]:
    """Step and sum with which each node came to its end."""
    return [(int(step), int(sum_)) for step, sum_ in re.findall(r"ends with (\d+) (\d+)", text)]
