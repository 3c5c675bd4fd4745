"""What a preemption costs at most, and Young's and Daly's intervals."""

import json
from typing import Any

import pytest

from trainer_infra.runs import preemption_cost
from trainer_infra.runs.settings import RunSettings


def run(nodes: int = 4, gpus: int = 8, **said: Any) -> RunSettings:
    env = {"TRAINER_INFRA_CHECKPOINT": json.dumps({"place": "s3://b", **said})} if said else {}
    return RunSettings(
        env=env, nodes=nodes, resources={"nvidia.com/gpu": str(gpus)} if gpus else {}
    )


COSTS = [
    (run(), "all since the start, on 4 nodes with 8 GPUs each: the run has no checkpoint"),
    (run(1, 1, every_steps=100), "else at most 100 steps on 1 node with 1 GPU each"),
    (run(2, 0, every_seconds=600), "else at most 10m on 2 nodes"),
    (run(every_seconds=900), "else at most 15m on 4 nodes with 8 GPUs each, 8 GPU hours"),
    (run(keep=3), "one step where the run has the time to save, else at most all since the start"),
    (run(1, 0, every_steps=5, on_preemption=False), "a preemption loses at most 5 steps on 1 node"),
]


@pytest.mark.parametrize(("settings", "said"), COSTS)
def test_what_a_preemption_costs_at_most(settings: RunSettings, said: str) -> None:
    assert said in preemption_cost.cost_sentence(settings)


@pytest.mark.parametrize(
    ("save", "between", "young", "daly"),
    [
        # Daly (2006), equation 37, by hand.
        (60, 21_600, 1610.0, 1570.2),
        (300, 86_400, 7200.0, 7001.4),
        (600, 3_600, 2078.5, 1697.7),
        (7200, 3600, 7200.0, 3600.0),
    ],
)
def test_young_s_and_daly_s_interval(
    save: float, between: float, young: float, daly: float
) -> None:
    assert preemption_cost.young_interval(save, between) == pytest.approx(young, abs=0.1)
    assert preemption_cost.daly_interval(save, between) == pytest.approx(daly, abs=0.1)


@pytest.mark.parametrize(
    ("every", "said"),
    [
        (60, "every=60s costs more in saves than it keeps"),
        (600, "26m by Daly's"),
        (4000, "26m by Daly's"),
        (18_000, "every=5h loses more work than saving more often would cost"),
    ],
)
def test_an_interval_that_is_far_from_the_best_is_spoken_of(every: int, said: str) -> None:
    settings = run(every_seconds=every, save_seconds=60, mean_time_between_failures="6h")
    advice = preemption_cost.interval_advice(settings)
    assert advice.endswith(said)


def test_no_interval_is_advised_without_the_time_between_failures() -> None:
    assert preemption_cost.interval_advice(run(every_seconds=60)) == ""
