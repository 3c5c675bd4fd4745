"""Secrets planted everywhere, and searched in everything that Pulumi and a real cluster keep."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from tests.deploy import secret_places
from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import eventually
from tests.engine.stack import EngineStack
from tests.soak_sample import sampled

ROOT = Path(__file__).resolve().parents[2]

WRONG = """
import asyncio, os, sys
sys.path.insert(0, {root!r})
from tests.deploy.secret_places import PLACES, secret

place, kind = os.environ["PLACE"], os.environ["KIND"]
PLACES[place][0]("x", secret("planted-" + place, kind))
"""
ALL_AT_ONCE = """
import sys
sys.path.insert(0, {root!r})
from tests.deploy.secret_places import PLACES, secret

for place, (make, _) in PLACES.items():
    if place.startswith("gate"):
        continue  # what they wait for would run
    try:
        make("x-" + place, secret("planted-" + place, "Secret"))
    except pulumi.RunError as error:
        pulumi.log.info(str(error))
"""
TRANSFORMED = """
from trainer_infra import TrainJobs
from trainer_infra import TrainingRuntime, catalog
planted = pulumi.Output.secret("planted-by-transform")

def plant(arguments):
    if "trainer:" in arguments.type_:
        arguments.props[{place!r}] = {{"key": planted}}
        return pulumi.ResourceTransformResult(arguments.props, arguments.opts)

def plant_as_before(arguments):
    plant(arguments)
    return pulumi.ResourceTransformationResult(arguments.props, arguments.opts)

class Team(pulumi.ComponentResource):
    def __init__(self, name, opts):
        super().__init__("acme:index:Team", name, {{}}, opts)

opts = {opts}
if {of_stack}:
    pulumi.runtime.register_resource_transform(plant)
TrainJob("job", runtime="jax-distributed", namespace=NS, suspend=True, opts=opts)
TrainJobs("many", {{"m": {{"runtime": "jax-distributed", "namespace": NS, "suspend": True}}}}, opts=opts)
"""
TRANSFORMS = {
    "own": "pulumi.ResourceOptions(transforms=[plant])",
    "parent": 'pulumi.ResourceOptions(parent=Team("t", pulumi.ResourceOptions(transforms=[plant])))',
    "own-of-the-older-kind": "pulumi.ResourceOptions(transformations=[plant_as_before])",
    "stack": "None",
}

DOORS = """
from trainer_infra import TrainJobs
fed = pulumi.Config().require_secret("fed")

def tell(token, pin):
    import os, sys
    line = f"using {{token}} {{pin}} {{os.environ['PLAIN']}} {{os.environ['FED']}}"
    print(line, flush=True)
    print(repr(os.environ["LINES"]), os.environ["LINES"].splitlines()[1], flush=True)
    import base64, json
    print(json.dumps([token]), base64.b64encode(token.encode()).decode(), flush=True)
    with open("/dev/termination-log", "w") as file:
        file.write(line)
    sys.exit(3)

trainer = CustomTrainer(tell, image=place["image"], num_nodes=1,
    env={{"PLAIN": Secret("planted-env"), "FED": fed, "LINES": Secret("planted-first\\nplanted-second")}},
    func_args={{"token": Secret('planted-"quoted" arg'), "pin": Secret(7712345678)}})
runtime = tried_once("jax-distributed")
for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
    job["template"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
arguments = {{"runtime": runtime, "namespace": NS, "trainer": trainer}}
TrainJob("job", **arguments, wait_for="complete")
TrainJobs("many", {{"m": {{**arguments, "annotations": {{"n": "{n}"}}}}}}, wait_for="complete")
"""
PLANTED = (
    "planted-env",
    "planted-fed",
    "planted-first",
    "planted-second",
    'planted-"quoted" arg',
    "7712345678",
)
SPELLED = (
    *PLANTED,
    'planted-\\"quoted\\" arg',
    *(base64.b64encode(each.encode()).decode().rstrip("=") for each in PLANTED),
)


def files(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file below a folder, but programs and the engine's plugins."""
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".py":
            yield str(path), path.read_text(errors="replace")


def kept(stack: Stack, namespace: Namespace, shown: str) -> Iterator[tuple[str, str]]:
    """Everything that was printed or is kept of a stack and its namespace, but Secrets."""
    yield "printed", shown
    yield from files(stack.folder.parent / "backend")
    yield "export", stack.export()
    if not isinstance(stack, EngineStack):  # which has no history
        yield "history", stack.run("stack", "history", "--json", "--full-dates")
    for kind in ("configmaps", "jobsets", "jobs", "pods", "events", "services"):
        yield kind, namespace.kubectl("get", kind, "-o", "json")


def leaks(found: Iterator[tuple[str, str]], planted: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(where, each) for where, text in found for each in planted if each in text]


def test_no_secret_in_a_wrong_place_gets_anywhere(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    cli_cluster_stack.program(ALL_AT_ONCE.format(root=str(ROOT)))
    shown = cli_cluster_stack.preview() + cli_cluster_stack.up()
    assert shown.count("cannot hold a secret") >= 2 * 40
    assert leaks(kept(cli_cluster_stack, namespace, shown), ("planted-",)) == []
    assert namespace.names("jobsets") == []


@pytest.mark.parametrize(
    "place",
    sampled(["job-runtime-env", "member-runtime-env", "job-patch", "TrainingRuntime-env"], every=4),
)
def test_no_secret_output_in_a_wrong_place_gets_anywhere(
    cluster_stack: Stack, namespace: Namespace, place: str
) -> None:
    env = {**cluster_stack.env, "PLACE": place, "KIND": "Output"}
    stack = replace(cluster_stack, env=env)
    stack.program(WRONG.format(root=str(ROOT)))
    shown = stack.preview(ok=False) + stack.up(ok=False)
    assert f": {secret_places.PLACES[place][1]}: cannot hold a secret" in shown
    assert "Traceback" not in shown
    assert leaks(kept(stack, namespace, shown), (f"planted-{place}",)) == []
    assert namespace.names("jobsets") == []


@pytest.mark.parametrize("kind", sampled(TRANSFORMS, every=4))
def test_no_secret_of_a_transform_gets_anywhere(
    cli_cluster_stack: Stack, namespace: Namespace, kind: str
) -> None:
    program = TRANSFORMED.format(place="labels", opts=TRANSFORMS[kind], of_stack=kind == "stack")
    cli_cluster_stack.program(PROGRAM + dedent(program))
    shown = cli_cluster_stack.preview(ok=False) + cli_cluster_stack.up(ok=False)
    assert "labels.key: cannot hold a secret" in shown
    assert leaks(kept(cli_cluster_stack, namespace, shown), ("planted-by-transform",)) == []
    assert namespace.names("jobsets") == []


def test_what_a_program_prints_of_its_secrets_is_hidden_wherever_it_is_shown_or_kept(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    here = ("-n", namespace.name)
    cli_cluster_stack.run("config", "set", "--secret", "fed", "planted-fed")
    cli_cluster_stack.program(PROGRAM + dedent(DOORS.format(n=1)))
    shown = cli_cluster_stack.preview()
    shown += cli_cluster_stack.up(ok=False)
    names = namespace.names("jobsets")
    assert len(names) == 2
    shown += cli_cluster_stack.run("refresh", "--yes", "--diff")
    shown += cli_cluster_stack.trainer("get", *here) + cli_cluster_stack.trainer(
        "get", "-A", "-o", "json"
    )
    for name in names:
        logs = cli_cluster_stack.trainer("logs", name, *here)
        assert "using <secret> <secret> <secret> <secret>" in logs
        shown += logs
        for verb in (("describe", name), ("get", name, "-o", "yaml"), ("logs", "-f", name)):
            shown += cli_cluster_stack.trainer(*verb, *here)
    assert "the last lines of" in shown
    assert leaks(kept(cli_cluster_stack, namespace, shown), SPELLED) == [
        ("pods", each) for each in leaked_by_kubernetes(namespace)
    ]


def leaked_by_kubernetes(namespace: Namespace) -> list[str]:
    """What pods' own statuses hold: the kubelet put the termination message there."""
    pods = namespace.kubectl("get", "pods", "-o", "json")
    return [each for each in SPELLED if each in pods]


@pytest.mark.parametrize(
    "harm",
    sampled(["changed", "removed", "deleted"], every=3),
)
def test_a_secret_that_was_harmed_is_mended_from_the_state(
    cluster_stack: Stack, namespace: Namespace, harm: str
) -> None:
    cluster_stack.program(
        PROGRAM
        + dedent("""
        TrainJob("job", runtime="jax-distributed", namespace=NS, suspend=True,
                 trainer={"env": [{"name": "TOK", "value": Secret("planted-token")}]})
        """)
    )
    cluster_stack.up()
    uid = cluster_stack.job()["uid"]
    ((secret, before),) = [
        (each["metadata"]["name"], each["data"]) for each in namespace.all("secrets")
    ]
    patch = {
        "changed": ("patch", "secret", secret, "-p", '{"stringData": {"trainer.env.TOK": "evil"}}'),
        "removed": (
            "patch", "secret", secret, "--type=json",
            "-p", '[{"op": "remove", "path": "/data/trainer.env.TOK"}]',
        ),
        "deleted": ("delete", "secret", secret),
    }[harm]  # fmt: skip
    namespace.kubectl(*patch)
    shown = cluster_stack.run("refresh", "--yes", "--diff")
    shown += cluster_stack.up()
    assert namespace.all("secrets")[0]["data"] == before
    assert cluster_stack.job()["uid"] == uid
    cluster_stack.run("refresh", "--yes")
    cluster_stack.unchanged()
    assert "planted-token" not in shown
    assert "evil" not in shown
    assert re.search("planted-token", json.dumps(namespace.all("configmaps"))) is None
    eventually(lambda: namespace.names("jobsets"))
