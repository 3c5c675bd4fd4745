"""docs/environment.md says what a process sees: no more, and no less."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.deploy.project import Stack
from tests.docs import page
from trainer_infra import catalog, names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.catalog.shipped_runtime import ShippedRuntime
from trainer_infra.cluster.provider.engine_provider import provider_behaviour
from trainer_infra.errors import InvalidInput
from trainer_infra.local import pod_environment
from trainer_infra.render import pipeline
from trainer_infra.render.plugins import PLUGINS, flux
from trainer_infra.runs.run import Owner
from trainer_infra.trainers import kept_outputs

PAGE = page.ROOT / "docs" / "environment.md"
OF_RUNTIMES = page.table(PAGE, "runtimes", "replicated job", "variables")
MEANINGS = page.table(PAGE, "variable", "value", "example")
OF_EVERY_RUN = page.table(PAGE, "variable", "on this machine", "on a cluster", "value")
PROGRAMS = page.table(PAGE, "framework", "in the training function", "a whole program")

NOT_HERE = {
    "no",
    *("with packages", "with code in a store", "with a checkpoint", "with a range of nodes"),
}
"""Variables of other runs than that of `PRINTS`."""
PRINTS = """
def show(token):
    import os
    print(*sorted(os.environ))
    print("output", os.environ["TRAINER_INFRA_OUTPUT_MODEL"])

trainer = CustomTrainer(show, func_args={"token": Secret("a value")}, resources_per_node={"cpu": 1})
TrainJob("job", runtime="plain-distributed", trainer=trainer, outputs=["model"], wait_for="complete")
"""


def job(runtime: str, nodes: int = 2, **trainer: Any) -> TrainJob:
    trainer = {"command": ["true"], "numNodes": nodes, **trainer}
    spec = {"runtimeRef": {"name": runtime}, "trainer": trainer}
    return TrainJob.from_wire({"metadata": {"name": "tj", "namespace": "n"}, "spec": spec})


def containers(job_set: Any) -> Iterator[tuple[str, Any]]:
    """Replicated job and container."""
    for each in job_set["spec"]["replicatedJobs"]:
        pod = each["template"]["spec"]["template"]["spec"]
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            yield each["name"], container


def variables(runtime: str) -> dict[str, dict[str, str]]:
    """By replicated job: name and value of each variable of a job on a shipped runtime."""
    found: dict[str, dict[str, str]] = {}
    for name, container in containers(pipeline.render(job(runtime), catalog.get(runtime))[-1]):
        mine = {each["name"]: each.get("value", "") for each in container.get("env", ())}
        found.setdefault(name, {}).update(mine)
    return found


def of_page(runtime: str) -> dict[str, set[str]]:
    """By replicated job, what the page says of a runtime."""
    rows = [row for row in OF_RUNTIMES if runtime in page.codes(row[0])]
    found: dict[str, set[str]] = {}
    for _, cell, said in rows:
        (name,) = page.codes(cell)
        found[name] = set()
        for each in page.codes(said):
            known = {one.name for one in catalog.RUNTIMES}
            found[name] |= of_page(each)[name] if each in known else {each}
    return found


@pytest.mark.parametrize("shipped", catalog.RUNTIMES, ids=lambda each: each.name)
def test_the_page_has_the_variables_that_each_runtime_sets(shipped: ShippedRuntime) -> None:
    rendered = {name: set(each) for name, each in variables(shipped.name).items()}
    assert of_page(shipped.name) == rendered


def test_each_variable_is_explained_by_a_value_that_it_has() -> None:
    rendered: dict[str, set[str]] = {}
    for shipped in catalog.RUNTIMES:
        for each in variables(shipped.name).values():
            for name, value in each.items():
                rendered.setdefault(name, set()).add(value)
    explained = {page.codes(name)[0]: page.codes(example)[0] for name, _, example in MEANINGS}
    assert explained.keys() == rendered.keys()
    wrong = {
        name: example
        for name, example in explained.items()
        if rendered[name] != {""} and example not in rendered[name]
    }
    assert wrong == {}


@pytest.mark.parametrize("name", sorted(page.codes(row[0])[0] for row in MEANINGS))
def test_reserved_names_are_refused_as_the_page_says(name: str) -> None:
    prefix = name.partition("_")[0]
    of_mpi = dict.fromkeys(("OMPI", "PRTE"), "deepspeed")
    runtime = {"PET": "torch", "DMLC": "xgboost", "JAX": "jax", **of_mpi}.get(prefix)
    if runtime is None:
        assert name in {"STORAGE_URI", "CACHE_IMAGE", "TRAIN_JOB_NAME"}
        return
    given = job(f"{runtime}-distributed", env=[{"name": name, "value": "mine"}])
    shipped = catalog.get(f"{runtime}-distributed")
    if prefix != "JAX":
        with pytest.raises(InvalidInput, match="reserved"):
            pipeline.render(given, shipped)
        return
    ((_, container),) = containers(pipeline.render(given, shipped)[-1])
    assert {"name": name, "value": "mine"} in container["env"]


def test_a_process_on_this_machine_sees_what_the_page_says(stack: Stack) -> None:
    stack.program(PRINTS)
    stack.up()
    (run,) = stack.runs()
    shown, output = stack.trainer("logs", run["name"], "--pod", "node-0-0").splitlines()[-2:]
    seen = {
        name
        for name in shown.split()
        if name not in pod_environment.ALLOWED and not name.startswith("LC_")
    }
    said = {name for row in OF_EVERY_RUN if row[1] not in NOT_HERE for name in page.codes(row[0])}
    assert seen == said
    assert "model" in output


def test_engine_provider_adds_what_the_page_says() -> None:
    of_engine = provider_behaviour(PLUGINS, Owner("p", "s", "u"))
    made = pipeline.render(job("plain-distributed"), catalog.get("plain-distributed"), of_engine)
    ((_, container),) = containers(made[-1])
    by_kubernetes = {names.JOB_COMPLETION_INDEX}
    said = {page.codes(row[0])[0] for row in OF_EVERY_RUN if row[2] == "yes"}
    assert {each["name"] for each in container["env"]} | by_kubernetes == said


def test_what_is_passed_on_of_the_shell_is_the_list_of_the_page() -> None:
    _, _, section = PAGE.read_text().partition("## Passed on from your shell\n")
    listed = next(each for each in section.split("\n\n") if "`PATH`" in each)
    assert set(page.codes(listed)) == pod_environment.ALLOWED


@pytest.mark.parametrize("row", PROGRAMS, ids=lambda row: row[0])
def test_the_lines_of_a_framework_are_those_of_a_program_that_trains_in_tests(
    row: list[str],
) -> None:
    _, said, link = row
    program = page.ROOT / link.partition("(../")[2].rstrip(")")
    lines = [each for each in page.codes(said) if "=" in each or "(" in each]
    assert lines != []
    assert [each for each in lines if each not in program.read_text()] == []


def test_folders_and_settings_are_named_as_they_are() -> None:
    codes = set(page.spans(PAGE))
    folders = {names.CODE_MOUNT, names.SECRET_MOUNT, names.OUTPUTS_MOUNT}
    assert folders | set(flux.SETTINGS) <= codes
    assert kept_outputs.output_variable("model") in codes
    mounts = {
        mount["mountPath"]
        for runtime in ("deepspeed-distributed", "torchtune-llama3.2-1b")
        for _, container in containers(pipeline.render(job(runtime), catalog.get(runtime))[-1])
        for mount in container.get("volumeMounts", ())
    }
    assert mounts <= codes
