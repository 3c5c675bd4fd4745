"""What a run of a cluster says of its settings: from its record and its JobSet, while it runs and after."""

import asyncio

from tests.cluster.in_memory import Small
from tests.cluster.submissions import Job
from trainer_infra import CustomTrainer
from trainer_infra.runs.settings import RunSettings


def train(rate: float, depth: int = 3) -> None:
    """What the run below runs."""


def test_a_run_of_a_cluster_says_with_what_it_trains_and_keeps_it_at_its_end() -> None:
    packed = CustomTrainer(
        train,
        func_args={"rate": 0.3},
        packages=["numpy==2.3.5"],
        resources_per_node={"cpu": 2},
        env={"MODE": "fast"},
    ).pack()
    job = Job("default", code=packed.code, spec={"trainer": packed.trainer})

    async def life() -> tuple[RunSettings, RunSettings, RunSettings]:
        here = Small()
        created = (await here.submit(job)).settings
        await here.runs()
        running = (await here.now()).settings
        await here.exits(0)
        await here.ends("Completed")
        ended = await here.now()
        assert ended.phase == "Complete"
        return created, running, (await here.now()).settings

    created, running, ended = asyncio.run(life())
    assert created.arguments == {"rate": 0.3}
    assert (
        running
        == ended
        == RunSettings(
            runtime="torch-distributed",
            arguments={"rate": 0.3},
            defaults={"depth": 3},
            packages=("numpy==2.3.5",),
            image=running.image,
            env={"MODE": "fast"},
            nodes=1,
            resources={"cpu": "2"},
        )
    )
    assert running.image.startswith("pytorch/pytorch:")
