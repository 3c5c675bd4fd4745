"""TrainJobs, their gates, batches and runtimes, of which real processes run on this machine."""

from tests.contract.engine.conftest import agreed
from tests.contract.engine.watched import Watched

JOB = """
job = TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(train, func_args={args}), {more})
"""
WAITS = 'wait_for="complete"'
HELD = "suspend=True"


def test_a_run_other_arguments_and_its_metrics(watched: Watched) -> None:
    export = 'pulumi.export("accuracy", job.metrics["accuracy"])\n'
    watched.jobs(JOB.format(args={"text": "one"}, more=WAITS) + export)
    watched.preview()
    watched.up()
    watched.preview("--expect-no-changes")
    watched.refresh()
    watched.jobs(JOB.format(args={"text": "two"}, more=WAITS) + export)
    watched.preview()
    watched.up()
    watched.destroy()
    agreed(watched)


def test_a_gate_that_fails_and_is_repaired(watched: Watched) -> None:
    watched.jobs(JOB.format(args={"code": 3}, more=WAITS))
    watched.up(ok=False)
    watched.up(ok=False)
    watched.jobs(JOB.format(args={"code": 0}, more=WAITS))
    watched.up()
    agreed(watched)


def test_another_attempt(watched: Watched) -> None:
    watched.jobs(JOB.format(args={}, more=f"{HELD}, attempt=1"))
    watched.up()
    watched.jobs(JOB.format(args={}, more=f"{HELD}, attempt=2"))
    watched.preview()
    watched.up()
    agreed(watched)


def test_another_attempt_of_one_that_has_a_name(watched: Watched) -> None:
    watched.jobs(JOB.format(args={}, more=f'name="digits", {HELD}, attempt=1'))
    watched.up()
    watched.jobs(JOB.format(args={}, more=f'name="digits", {HELD}, attempt=2'))
    watched.preview()
    watched.up()
    agreed(watched)


def test_suspended_and_resumed(watched: Watched) -> None:
    watched.jobs(JOB.format(args={"seconds": 60.0}, more="suspend=False"))
    watched.up()
    watched.jobs(JOB.format(args={"seconds": 60.0}, more=HELD))
    watched.preview()
    watched.up()
    watched.destroy()
    agreed(watched)


def test_one_that_feeds_another(watched: Watched) -> None:
    watched.jobs(
        JOB.format(args={}, more=WAITS)
        + """
TrainJob("next", runtime="jax-distributed", wait_for="complete",
         trainer=CustomTrainer(train, func_args={"text": job.metrics["accuracy"]}))
"""
    )
    watched.preview()
    watched.up()
    watched.preview("--expect-no-changes")
    agreed(watched)


def test_a_named_one_is_deleted_before_it_is_made_again(watched: Watched) -> None:
    watched.jobs(JOB.format(args={"text": "one"}, more=f'name="digits", {WAITS}'))
    watched.up()
    watched.jobs(JOB.format(args={"text": "two"}, more=f'name="digits", {WAITS}'))
    watched.preview()
    watched.up()
    agreed(watched)


def test_a_forced_replacement_keeps_the_run(watched: Watched) -> None:
    watched.jobs(JOB.format(args={}, more=HELD))
    watched.up()
    said = watched.up("--replace", "urn:pulumi:test::project::pulumi-python:trainer:TrainJob::job")
    assert "is kept: the same content is the same run" in said
    assert len(watched.stack.runs()) == 1
    agreed(watched)


def test_a_run_that_somebody_deleted(watched: Watched) -> None:
    watched.jobs(JOB.format(args={}, more=WAITS))
    watched.up()
    watched.stack.trainer("delete", watched.stack.runs()[0]["name"])
    watched.refresh()
    watched.up()
    agreed(watched)


def test_secrets_of_a_run(watched: Watched) -> None:
    text = """
    secret = pulumi.Config().require_secret("fed")
    TrainJob("job", runtime="jax-distributed", suspend=True, trainer=CustomTrainer(
        train, func_args={{"fed": secret}}, env={{"TOKEN": Secret("planted-{}")}}))
    """
    watched.run("config", "set", "--secret", "fed", "planted-output")
    watched.jobs(text.format("one"))
    said = watched.preview() + watched.up() + watched.preview("--expect-no-changes")
    watched.jobs(text.format("two"))
    said += watched.preview() + watched.up() + watched.refresh()
    assert "planted" not in said
    agreed(watched)


def test_a_batch_whose_members_come_and_go(watched: Watched) -> None:
    text = """
    from trainer_infra import TrainJobs

    def job(**args):
        return {{"runtime": "jax-distributed", "suspend": True, "trainer": CustomTrainer(train, func_args=args)}}

    TrainJobs("many", {{{}}})
    """
    watched.jobs(text.format('"a": job(text="one"), "b": job(text="two"), "c": job(text="three")'))
    watched.preview()
    watched.up()
    watched.preview("--expect-no-changes")
    watched.jobs(
        text.format('"a": job(text="one"), "b": job(text="changed"), "d": job(text="four")')
    )
    watched.preview()
    watched.up()
    watched.refresh()
    watched.destroy()
    agreed(watched)


def test_a_batch_of_which_some_fail(watched: Watched) -> None:
    text = """
    from trainer_infra import TrainJobs

    def job(**args):
        return {{"runtime": "jax-distributed", "trainer": CustomTrainer(train, func_args=args)}}

    many = TrainJobs("many", {{"a": job(), "b": job(code=3)}}, wait_for="complete", tolerate_failures={})
    pulumi.export("failures", many.failures.apply(sorted))
    """
    watched.jobs(text.format(0))
    watched.up(ok=False)
    watched.jobs(text.format(1))
    watched.up()
    agreed(watched)


def test_a_runtime_and_its_job(watched: Watched) -> None:
    text = """
    from trainer_infra import TrainingRuntime, catalog

    runtime = catalog.get("jax-distributed").to_wire()
    runtime["metadata"] = {{"name": "mine"}}
    runtime["spec"]["mlPolicy"]["numNodes"] = {}
    TrainJob("job", runtime=TrainingRuntime("mine", runtime), suspend=True, trainer=CustomTrainer(train))
    """
    watched.jobs(text.format(1))
    watched.preview()
    watched.up()
    watched.jobs(text.format(2))
    watched.preview()
    watched.up()
    agreed(watched)


def test_everything_that_is_wrong_with_a_job(watched: Watched) -> None:
    watched.jobs("""
    TrainJob("job", runtime="jax-distributed", attempt=0,
             trainer={"imagee": "x"}, labels={"a b": "c"})
    """)
    watched.preview(ok=False)
    agreed(watched)


def test_a_run_of_another_resource_is_adopted_and_left_alone(watched: Watched) -> None:
    text = 'TrainJob("{}", name="digits", runtime="jax-distributed", {}, adopt={}, trainer=CustomTrainer(train))'
    watched.jobs(text.format("first", HELD, False))
    watched.up()
    watched.stack.name = "other"
    watched.run("stack", "init")
    watched.run("config", "set", "trainer:target", "local")
    watched.jobs(text.format("second", HELD, False))
    watched.up(ok=False)
    watched.jobs(text.format("second", HELD, True))
    watched.up()
    watched.stack.name = "test"
    watched.destroy()
    assert [run["owner"]["stack"] for run in watched.stack.runs()] == ["other"]
    agreed(watched)
