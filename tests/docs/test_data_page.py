"""docs/data.md, gpus.md and checkpoints.md: what they say of resources, volumes and initializers is what the code does."""

from pathlib import Path

import pytest

from tests.deploy.project import Stack, until
from tests.docs import page
from tests.docs.test_environment import containers, job, variables
from trainer_infra import catalog, names
from trainer_infra.errors import InvalidInput
from trainer_infra.local import capacity, unsupported_fields
from trainer_infra.render import pipeline
from trainer_infra.runs.run import COMPLETE
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
