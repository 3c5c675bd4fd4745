"""What initializers copy from this machine is said with its sum, and what is not here is said too."""

from pathlib import Path
from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.local import target
from trainer_infra.local.target import ThisMachine, source_warnings
from trainer_infra.render import pipeline
from trainer_infra.trainers.claim_volumes import attach_claims

RUNTIME = "torch-distributed-with-initializers"
GIGABYTE = 1_000_000_000


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """A folder of one gigabyte, which takes no place on the disk."""
    folder = tmp_path / "big data"
    folder.mkdir()
    with (folder / "weights").open("wb") as file:
        file.truncate(GIGABYTE)
    return folder


def objects_of(name: str, volumes: Path = Path("/nowhere"), **uris: str) -> list[Any]:
    wire = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {
            "runtimeRef": {"kind": "ClusterTrainingRuntime", "name": RUNTIME},
            "initializer": {kind: {"storageUri": uri} for kind, uri in uris.items()},
            "trainer": {"command": ["true"]},
        },
    }
    runtime = catalog.get(RUNTIME)
    job = attach_claims(wire, runtime, lambda address: address.replace("pvc:/", str(volumes)))
    return list(pipeline.render(TrainJob.from_wire(job), runtime))


def said(*objects: Any, home: Path = Path("/")) -> list[str]:
    return list(source_warnings(objects, home))


def test_the_copies_of_a_sweep_are_said_once_with_their_sum(big: Path, tmp_path: Path) -> None:
    members = [
        each for name in ("a", "b", "c", "d") for each in objects_of(name, dataset=big.as_uri())
    ]
    (sentence,) = said(*members, home=tmp_path / "not" / "there")
    shown = big.as_uri()
    assert sentence.startswith(f"4 initializers copy {shown}: 953.7 MiB each, 3.7 GiB in all, and ")
    assert f" are free in {tmp_path}/not/there; XFS and Btrfs keep such copies once" in sentence


def test_one_copy_and_eleven_are_said_as_such(big: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "WORTH_SAYING", GIGABYTE)
    (one,) = said(*objects_of("a", dataset=big.as_uri()))
    assert one.startswith(f"an initializer copies {big.as_uri()}: 953.7 MiB, and ")
    members = [each for name in "abcdefghijk" for each in objects_of(name, model=big.as_uri())]
    (eleven,) = said(*members)
    assert eleven.startswith(
        f"11 initializers copy {big.as_uri()}: 953.7 MiB each, 10.2 GiB in all"
    )


def test_a_source_of_more_files_than_a_preview_counts_is_at_least_so_large(
    big: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (big / "zz").mkdir()
    (big / "zz" / "more").write_text("x")
    monkeypatch.setattr(target, "LOOKED_AT", 1)
    monkeypatch.setattr(target, "WORTH_SAYING", GIGABYTE)
    (sentence,) = said(*objects_of("a", dataset=big.as_uri()))
    assert f"copies {big.as_uri()}: at least 953.7 MiB, and " in sentence


def test_a_small_source_is_not_worth_a_word(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1")
    uri = (tmp_path / "rows.csv").as_uri()
    assert said(*objects_of("a", dataset=uri, model=uri)) == []


def test_a_claim_that_is_a_folder_here_counts_too(big: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    big.rename(tmp_path / "data" / big.name)
    uri = "pvc://data/big%20data"
    (sentence,) = said(*(each for name in "ab" for each in objects_of(name, tmp_path, dataset=uri)))
    assert sentence.startswith("2 initializers copy pvc://data/big%20data: 953.7 MiB each, 1.9 GiB")


@pytest.mark.parametrize("kind", ["dataset", "model"])
def test_a_folder_that_is_not_here_is_said(kind: str, tmp_path: Path) -> None:
    missing = tmp_path / "no data"
    (sentence,) = said(*objects_of("a", Path("/nowhere"), **{kind: missing.as_uri()}))
    assert sentence.startswith(f"{missing.as_uri()} is {missing} on this machine, and there is ")


@pytest.mark.parametrize(
    "uri", ["hf://org/name", "s3://bucket/x", "file:///workspace/dataset/x", "file://wrong", ""]
)
def test_what_is_elsewhere_or_made_by_the_run_is_no_folder_of_this_machine(uri: str) -> None:
    assert said(*objects_of("a", dataset=uri)) == []


def test_this_machine_says_it_at_preview() -> None:
    objects = tuple(objects_of("a", dataset="file:///no/such/folder"))
    assert any("file:///no/such/folder is" in each for each in ThisMachine().warnings(objects))
