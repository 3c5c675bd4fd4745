"""A folder that no ConfigMap holds, by `pulumi up` on this machine: kept under its hash, and fetched before the training."""

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.deploy.project import Stack

MAIN = """
import hashlib
from pathlib import Path
from trainer_infra.report import report

here = Path(__file__).parent
report(progress=100, sum=hashlib.sha256((here / "weights.bin").read_bytes()).hexdigest()[:8])
"""
PROGRAM = """
job = TrainJob("job", runtime="plain-distributed", wait_for="complete",
               trainer=CustomTrainer("app:main.py"))
pulumi.export("sum", job.metrics["sum"])
"""
WEIGHTS = bytes(range(256)) * 12 * 1024
SUM = hashlib.sha256(WEIGHTS).hexdigest()[:8]


@pytest.fixture
def large(stack: Stack, tmp_path: Path) -> Stack:
    """A stack with a store, and a program whose folder has 3 MiB of a binary file."""
    stack.program(PROGRAM)
    write(stack, "main.py", MAIN.encode())
    write(stack, "weights.bin", WEIGHTS)
    stack.run("config", "set", "trainer:code", (tmp_path / "store").as_uri())
    return replace(stack, env={**stack.env, "TRAINER_INFRA_CACHE": str(tmp_path / "cache")})


def write(stack: Stack, name: str, content: bytes) -> None:
    file = stack.folder / "app" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)


@pytest.mark.soak
def test_a_large_folder_with_a_binary_file_trains(large: Stack) -> None:
    shown = large.preview()
    assert "code-initializer" in shown
    large.up()
    assert large.outputs()["sum"] == SUM
    state = large.export()
    assert len(state) < 200_000
    large.unchanged()

    first = large.job()["name"]
    write(large, "main.py", MAIN.encode() + b"# a comment\n")
    large.unchanged()
    write(large, "weights.bin", WEIGHTS[::-1])
    large.up()
    assert large.job()["name"] != first
    large.run("destroy", "--yes")
    assert large.runs() == []


def test_without_a_store_the_preview_says_what_to_do(large: Stack) -> None:
    large.run("config", "rm", "trainer:code")
    shown = large.preview(ok=False)
    assert (
        "the code has 3.0 MiB, over a ConfigMap's limit of 1.0 MiB; largest: weights.bin" in shown
    )
    assert "`pulumi config set trainer:code s3://BUCKET/PREFIX`" in shown


def test_members_and_outputs_know_the_store_too(large: Stack) -> None:
    large.program(
        """
        from trainer_infra import TrainJobs
        job = {"runtime": "plain-distributed", "trainer": CustomTrainer("app:main.py", num_nodes=pulumi.Output.from_input(2))}
        sweep = TrainJobs("sweep", {"a": job, "b": {**job, "attempt": 2}}, wait_for="complete")
        pulumi.export("sums", sweep.results.apply(lambda each: [one["metrics"]["sum"] for one in each.values()]))
        """
    )
    large.up()
    assert large.outputs()["sums"] == [SUM, SUM]
    large.unchanged()


def test_gc_removes_what_previews_made_and_not_what_a_run_would_fetch_again(
    large: Stack, tmp_path: Path
) -> None:
    large.up()
    write(large, "weights.bin", WEIGHTS[::-1])
    large.preview()
    kept = list((tmp_path / "cache" / "code").iterdir())
    for each in kept:
        os.utime(each, (0, 0))
    assert "1 deleted" in large.trainer("gc", "--cache", "--yes")
    (left,) = (each for each in kept if each.exists())
    (record,) = Path(large.env["TRAINER_INFRA_HOME"]).glob("runs/*/*/record.json")
    assert left.name in record.read_text()


def test_a_cluster_gets_the_address_at_preview_and_nothing_is_sent(
    large: Stack, tmp_path: Path
) -> None:
    (tmp_path / "kubeconfig").write_text(json.dumps({"apiVersion": "v1", "kind": "Config"}))
    settings = {
        "target": "kubernetes",
        "kubeconfig": str(tmp_path / "kubeconfig"),
        "codeSecret": "store-keys",
        "codeImage": "registry.example/initializer:1",
    }
    for key, value in settings.items():
        large.run("config", "set", f"trainer:{key}", value)
    shown = large.preview()
    assert f"{(tmp_path / 'store').as_uri()}/" in shown
    assert "store-keys" in shown
    assert "registry.example/initializer:1" in shown
    assert not (tmp_path / "store").exists()
