"""A folder that no ConfigMap holds, on a cluster: `up` keeps it in a shared folder, and each pod fetches it."""

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

from from_source.cluster import initializer_image, package_image
from tests.deploy.project import Stack
from tests.deploy.test_stored_code import MAIN, SUM, WEIGHTS, write
from tests.e2e.cluster import PROGRAM, Namespace

TRAINING = """
job = TrainJob("job", runtime=tried_once("plain-distributed"), namespace=NS, wait_for="complete",
               trainer=CustomTrainer("app:main.py", image=place["image"], num_nodes=2,
                                     resources_per_node={"cpu": "50m"}))
pulumi.export("sum", job.metrics["sum"])
"""


def test_pods_fetch_a_large_folder_with_a_binary_file(
    cluster_stack: Stack, namespace: Namespace, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    settings = {
        "code": store.as_uri(),
        "codeImage": package_image.loaded(initializer_image.IMAGE),
    }
    for key, value in settings.items():
        cluster_stack.run("config", "set", f"trainer:{key}", value)
    cluster_stack.program(PROGRAM + dedent(TRAINING))
    write(cluster_stack, "main.py", MAIN.encode())
    write(cluster_stack, "weights.bin", WEIGHTS)

    cluster_stack.preview()
    assert not store.exists()
    cluster_stack.up()
    assert cluster_stack.outputs()["sum"] == SUM
    cluster_stack.unchanged()
    run = cluster_stack.job()["name"]
    shown = cluster_stack.trainer("describe", run, "--namespace", namespace.name)
    assert "Complete" in shown

    # Another job with the same code finds it there.
    (kept,) = store.iterdir()
    before = kept.stat()
    cluster_stack.program(PROGRAM + dedent(TRAINING).replace("NS,", "NS, attempt=2,"))
    cluster_stack.up()
    assert kept.stat().st_mtime_ns == before.st_mtime_ns
    cluster_stack.run("destroy", "--yes")
    assert kept.exists()


def test_a_pod_says_why_it_has_no_code(cluster_stack: Stack, tmp_path: Path) -> None:
    store, cache = tmp_path / "store", tmp_path / "cache"
    env = {**cluster_stack.env, "TRAINER_INFRA_CACHE": str(cache)}
    cluster_stack = replace(cluster_stack, env=env)
    image = package_image.loaded(initializer_image.IMAGE)
    for key, value in {"code": store.as_uri(), "codeImage": image}.items():
        cluster_stack.run("config", "set", f"trainer:{key}", value)
    cluster_stack.program(PROGRAM + dedent(TRAINING))
    write(cluster_stack, "main.py", MAIN.encode())
    write(cluster_stack, "weights.bin", WEIGHTS)
    # Another program's file of that name and size is not code of this job.
    cluster_stack.preview()
    (tar,) = (cache / "code").glob("*.tar")
    store.mkdir(mode=0o755)
    content = bytearray(tar.read_bytes())
    content[-1] ^= 1
    (store / tar.name).write_bytes(content)
    said = cluster_stack.up(ok=False)
    assert "arrived damaged" in said
