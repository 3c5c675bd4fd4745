"""docs/data.md, gpus.md and checkpoints.md: what they say of resources, volumes and initializers is what the code does."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.deploy.project import Stack, until
from tests.docs import page
from tests.docs.test_environment import containers, job, variables
from trainer_infra import catalog, names
from trainer_infra.cli import describe, screen
from trainer_infra.errors import InvalidInput
from trainer_infra.in_pod.checkpoints.attempts import KEPT
from trainer_infra.local import capacity, unsupported_fields
from trainer_infra.render import pipeline
from trainer_infra.runs.attempts import Attempts, PastAttempt
from trainer_infra.runs.run import COMPLETE, Owner, Run
from trainer_infra.trainers.pods import pod_arguments

DOCS = page.ROOT / "docs"
GPUS = DOCS / "gpus.md"
RESOURCES = page.table(GPUS, "`resources_per_node`", "resource of the pod")
VOLUMES = page.table(DOCS / "data.md", "volume", "its folder on this machine")
PROCESSES = page.table(GPUS, "runtime", "processes of each node")


@pytest.mark.parametrize("row", RESOURCES, ids=lambda row: row[0])
def test_resources_are_called_as_the_page_says(row: list[str]) -> None:
    for given in page.codes(row[0]):
        (asked,) = page.codes(row[1]) or [given]
        amounts = {asked: 1}
        assert list(pod_arguments.resource_problems({given: 1})) == []
        assert pod_arguments.resource_requirements({given: 1}) == {
            "requests": amounts,
            "limits": amounts,
        }


def test_the_folders_of_all_kinds_of_volumes_are_named() -> None:
    kinds = {kind for row in VOLUMES for kind in page.codes(row[0])}
    assert kinds == unsupported_fields.VOLUMES


def processes(runtime: str, resource: str) -> str:
    """What a node of two devices is told of its processes."""
    wanted = job(runtime, resourcesPerNode={"limits": {resource: 2, "cpu": 3}})
    made = pipeline.render(wanted, catalog.get(runtime))
    told = {
        each["name"]: each.get("value")
        for _, container in containers(made[-1])
        for each in container.get("env", ())
    }
    known = ("PET_NPROC_PER_NODE", "DMLC_NUM_WORKER", "OMPI_MCA_orte_set_default_slots")
    return next((str(told[name]) for name in known if name in told), "one")


def test_processes_follow_the_gpus_as_the_page_says() -> None:
    said = {name: row[1] for row in PROCESSES for name in page.codes(row[0])}
    found = {name: processes(name, "nvidia.com/gpu") for name in said}
    expected = {
        "torch-distributed": "auto",
        "xgboost-distributed": "4",
        "deepspeed-distributed": "2",
        "mlx-distributed": "2",
        "jax-distributed": "one",
        "plain-distributed": "one",
    }
    assert found == expected
    assert "`auto`" in said["torch-distributed"]
    for resource in ("nvidia.com/mig-1g.5gb", "google.com/tpu"):
        assert processes("torch-distributed", resource) == "2"


def test_the_accelerators_that_are_counted_here_are_those_of_the_page() -> None:
    assert set(capacity.DEVICES) == {"nvidia.com/gpu", "amd.com/gpu", "google.com/tpu"}
    assert "GPUs of NVIDIA and AMD, and TPUs" in GPUS.read_text()


def test_initializers_are_where_the_page_says() -> None:
    having = {
        each.name for each in catalog.RUNTIMES if names.DATASET_INITIALIZER in variables(each.name)
    }
    said = {each.name for each in catalog.RUNTIMES if each.name.startswith("torchtune-")}
    assert having == {
        *said,
        "torch-distributed-with-cache",
        "torch-distributed-with-initializers",
    }


@pytest.mark.parametrize("runtime", ["torch-distributed", "plain-distributed"])
def test_an_initializer_is_an_error_on_a_runtime_without_one(runtime: str) -> None:
    given = job(runtime).to_wire()
    dataset = {"dataset": {"storageUri": "hf://a/b"}}
    with_data = type(job(runtime)).from_wire(
        {**given, "spec": {**given["spec"], "initializer": dataset}}
    )
    with pytest.raises(InvalidInput, match="must have dataset-initializer job"):
        pipeline.render(with_data, catalog.get(runtime))


@pytest.mark.parametrize("name", ["torchtune-llama3.2-1b", "torch-distributed-with-initializers"])
def test_initializers_of_the_catalog_are_processes_on_this_machine(name: str) -> None:
    rendered = pipeline.render(job(name, nodes=1, command=["true"]), catalog.get(name))
    assert unsupported_fields.unsupported_here(rendered) == ()


def test_a_run_that_fails_goes_on_from_its_checkpoint(stack: Stack) -> None:
    (program,) = (each.text for each in page.blocks(DOCS / "checkpoints.md") if each.is_program)
    begins, step = (
        'for step in range(state["step"], steps):\n',
        "checkpointer.step(step + 1, state)\n",
    )
    assert begins in program
    assert step in program
    fails = program.replace(begins, f"begun = state['step']\n    {begins}")
    fails = fails.replace(
        step, f"{step}        if begun == 0 and step == 14:\n            raise SystemExit(1)\n"
    )
    (stack.folder / "__main__.py").write_text(fails)
    stack.up()
    until(lambda: [each["phase"] for each in stack.runs()] == [COMPLETE], pause=1)
    (first,) = stack.runs()
    place = Path(first["outputs"]["checkpoints"])
    assert f"the training goes on from step 10, from {place}" in stack.trainer(
        "logs", first["name"]
    )

    again = fails.replace("Checkpoint(every=10),", "Checkpoint(every=10), attempt=2,")
    (stack.folder / "__main__.py").write_text(again)
    stack.up()
    (second,) = stack.runs()
    assert second["outputs"] != first["outputs"]
    assert (place / "step-0000000030").exists()


def _of_row(row: str) -> PastAttempt:
    """The attempt in a row of the table of attempts."""
    number, began, took, steps, lost, cause = row.split(maxsplit=5)
    first, last = map(int, steps.split(".."))
    end = datetime.fromisoformat(began) + timedelta(minutes=int(took.removesuffix("m")))
    times = (began, end.isoformat())
    lost_steps = 0 if lost == "-" else int(lost)
    cause = "" if cause == "goes on" else cause
    return PastAttempt(int(number), *times, first, last, lost_steps, cause=cause)


def test_what_is_shown_of_attempts() -> None:
    (text,) = (
        each.text for each in page.blocks(DOCS / "checkpoints.md") if "ENDED BY" in each.text
    )
    brief, _, _, _, *rows = text.strip().splitlines()
    last = tuple(map(_of_row, rows))
    lost = sum(each.lost for each in last)
    began, ended = (datetime.fromisoformat(each) for each in (last[0].began, last[-1].ended))
    kept = [
        (datetime.fromisoformat(each.ended) - datetime.fromisoformat(each.began))
        * (1 - each.lost / (each.last - each.first))
        for each in last
    ]
    share = round(100 * sum(kept, timedelta()) / (ended - began))
    found = Attempts(len(last), lost, share, last)
    run = Run("default", "digits", "u", "h", Owner(), "c", "", "Running", attempts=found)
    shown = [*describe.attempt_rows(run, screen.PIPE)]
    assert text.strip().splitlines() == [
        f"Attempts:  {found.wholly()}",
        "",
        "Attempts:",
        *(f"  {each}" for each in shown),
    ]
    assert brief.endswith("of the time went into steps that were kept")
    assert f"the last {KEPT}," in (DOCS / "checkpoints.md").read_text()
