"""Transforms change resources of ours as any other, wherever a program registers them."""

from textwrap import dedent

import pytest

from tests.deploy.project import Stack

PROGRAM = """
from trainer_infra import TrainJobs

def label(arguments):
    if arguments.type_.endswith("trainer:TrainJob"):
        arguments.props["labels"] = {{"cost": "team"}}
        return pulumi.ResourceTransformResult(arguments.props, arguments.opts)

def label_as_before(arguments):
    label(arguments)
    return pulumi.ResourceTransformationResult(arguments.props, arguments.opts)

class Team(pulumi.ComponentResource):
    def __init__(self, name, opts=None):
        super().__init__("acme:index:Team", name, {{}}, opts)

if {of_stack}:
    pulumi.runtime.register_resource_transform(label)
opts = {opts}
trainer = CustomTrainer(train, env={{"TOKEN": Secret("hunter2")}})
job = TrainJob("job", runtime="jax-distributed", trainer=trainer, wait_for="complete", opts=opts)
# What comes of a gate is unknown at preview.
fed = CustomTrainer(train, func_args={{"text": job.metrics["accuracy"]}})
TrainJob("fed", runtime="jax-distributed", trainer=fed, wait_for="complete", opts=opts)
TrainJobs("many", {{"m": {{"runtime": "jax-distributed", "trainer": fed}}}}, wait_for="complete", opts=opts)
"""
PLACES = {
    "own": "pulumi.ResourceOptions(transforms=[label])",
    "component": 'pulumi.ResourceOptions(parent=Team("t", pulumi.ResourceOptions(transforms=[label])))',
    "own-of-the-older-kind": "pulumi.ResourceOptions(transformations=[label_as_before])",
    "stack": "None",
}


OTHER_PLACES = (
    pytest.param(each, marks=pytest.mark.soak) for each in PLACES if each != "component"
)


@pytest.mark.parametrize("place", ["component", *OTHER_PLACES])
def test_a_transform_changes_jobs_that_wait_and_jobs_that_are_fed(
    cli_stack: Stack, place: str
) -> None:
    cli_stack.program(dedent(PROGRAM).format(opts=PLACES[place], of_stack=place == "stack"))

    shown = cli_stack.preview()
    assert "panic" not in shown
    assert "to create" in shown
    cli_stack.up()

    assert {cli_stack.job(name)["labels"]["cost"] for name in ("job", "fed")} == {"team"}
    cli_stack.unchanged()
