"""A sweep of twelve whose members fail, diverge, are retried and run on edited code, on both targets."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.e2e.fine_tuning import VOLUME

PROGRAM = """
import json, pathlib
from trainer_infra import TrainJobs, catalog
place = json.loads(pathlib.Path("place.json").read_text())

def trained(index, accuracy, needs=False, fails=False):
    import os, sys
    from trainer_infra.report import report
    from trainer_infra.storage import output
    if fails or needs and not os.path.exists(os.path.join(output("shared"), "mended")):
        raise ValueError(f"member {{index}} has no data")
    report(progress=100, accuracy=float(accuracy), edition={edition})

def member(index):
    accuracy = {{3: 0.3, 11: "nan"}}.get(index, index / 100)
    arguments = {{"index": index, "accuracy": accuracy, "needs": index in (3, 6, 9), "fails": {fails}}}
    runtime = catalog.get("plain-distributed").to_wire()
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        job["template"]["spec"]["backoffLimit"] = 0
    return {{"runtime": runtime, "namespace": place["ns"], "outputs": {{"shared": place["shared"]}},
            "trainer": CustomTrainer(trained, func_args=arguments, resources_per_node={{"cpu": "20m"}},
                                     **place["more"])}}

sweep = TrainJobs("sweep", {{f"m{{index:02}}": member(index) for index in range(12)}}, wait_for="complete",
                  max_parallel=6, tolerate_failures=12{keeps})
pulumi.export("metrics", sweep.results.apply(lambda ended: json.dumps(
    {{name: [each["metrics"]["accuracy"], each["metrics"]["edition"]] for name, each in ended.items()}})))
pulumi.export("failures", sweep.failures)
best = sweep.best("accuracy", mode="max")
pulumi.export("best", best.apply(lambda one: [one["member"], one["value"]]))
"""


def program(edition: int = 1, keeps: str = "", fails: bool = False) -> str:
    return PROGRAM.format(edition=edition, keeps=keeps, fails=fails)


def metrics(stack: Stack) -> dict[str, Any]:
    """By member, its accuracy and the edition of the code that it ran."""
    found: dict[str, Any] = json.loads(stack.outputs()["metrics"])
    return found


def runs_of(stack: Stack) -> dict[str, dict[str, str]]:
    """Member to its run."""
    (batch,) = stack.resources("trainer:TrainJobs")
    runs: dict[str, dict[str, str]] = batch["outputs"]["members"]
    return runs


EXPECTED: dict[str, Any] = {
    **{f"m{index:02}": [index / 100, 1] for index in range(12)},
    "m03": [0.3, 1],
    "m11": [None, 1],
}
WAITING = {"m03", "m06", "m09"}


def without(*names: str) -> dict[str, Any]:
    return {name: each for name, each in EXPECTED.items() if name not in names}


def check(stack: Stack, shared: Path, namespace: str) -> None:
    """The whole story, of a stack whose runs see the folder as their output `shared`."""
    three_fail_and_one_diverges(stack)
    two_are_retried(stack, shared, namespace)
    the_third_runs_on_edited_code(stack)
    all_fail(stack)


def three_fail_and_one_diverges(stack: Stack) -> None:
    stack.program(program())
    stack.up()
    found = stack.outputs()
    assert metrics(stack) == without(*WAITING)
    assert found["best"] == ["m10", 0.1]
    assert found["failures"].keys() == WAITING
    for name in WAITING:
        assert f"ValueError: member {int(name[1:])} has no data" in found["failures"][name]
    stack.unchanged()


def two_are_retried(stack: Stack, shared: Path, namespace: str) -> None:
    (shared / "mended").touch()
    runs = runs_of(stack)
    stack.trainer("retry", runs["m03"]["name"], runs["m06"]["name"], "-n", namespace)
    shown = stack.preview()
    assert "run again since they had failed: m03, m06" in shown, shown
    stack.up()
    assert metrics(stack) == without("m09")
    assert stack.outputs()["best"] == ["m03", 0.3]
    assert stack.outputs()["failures"].keys() == {"m09"}
    stack.unchanged()


def the_third_runs_on_edited_code(stack: Stack) -> None:
    before = runs_of(stack)
    stack.program(program(edition=2))
    whole = stack.preview()
    assert re.search("12 of 12 members start anew, .*; 11 of these are complete", whole)
    stack.program(program(edition=2, keeps=", keep_complete=True"))
    kept = stack.preview()
    assert "1 of 12 members start anew" in kept
    assert "11 of 12 members are complete and stay as they are, of other code" in kept
    stack.up()
    assert metrics(stack) == {**EXPECTED, "m09": [0.09, 2]}
    assert stack.outputs()["failures"] == {}
    after = runs_of(stack)
    assert [name for name in before if before[name]["uid"] != after[name]["uid"]] == ["m09"]
    stack.unchanged()


def all_fail(stack: Stack) -> None:
    stack.program(program(fails=True))
    shown = stack.up(ok=False)
    assert "no member is best by 'accuracy': none ended well; failures says why" in shown
    assert "Traceback" not in shown
    # The program has failed, so that the gate of the earlier runs waits for its deletion.
    (gate,) = (each for each in stack.resources("trainer:Results") if not each.get("delete"))
    assert gate["outputs"]["results"] == {}
    assert gate["outputs"]["failures"].keys() == EXPECTED.keys()


def place(stack: Stack, namespace: str, shared: str, **more: Any) -> None:
    """Where the program's runs go."""
    said = {"ns": namespace, "shared": shared, "more": more}
    (stack.folder / "place.json").write_text(json.dumps(said))


def test_on_this_machine(stack: Stack, tmp_path: Path) -> None:
    stack.run("config", "set", "trainer:target", "local")
    shared = tmp_path / "shared"
    shared.mkdir()
    place(stack, "default", str(shared))
    check(stack, shared, "default")


def test_on_a_cluster(
    cluster_stack: Stack, namespace: Namespace, image: str, tmp_path: Path
) -> None:
    with claim(namespace, tmp_path) as shared:
        place(cluster_stack, namespace.name, "pvc://models", image=image)
        check(cluster_stack, shared, namespace.name)


@contextmanager
def claim(namespace: Namespace, folder: Path) -> Iterator[Path]:
    """The folder of the claim `models`, until its volume is taken away."""
    shared = folder / "shared"
    shared.mkdir()
    volume = VOLUME.format(name=namespace.name, folder=shared)
    namespace.kubectl("apply", "--filename", "-", given=volume)
    try:
        yield shared
    finally:
        namespace.kubectl("delete", "pv", namespace.name, "--wait=false")
