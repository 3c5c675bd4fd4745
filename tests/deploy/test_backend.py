"""What tells two backends apart, and that the Pulumi command does not mind what a folder keeps."""

import json
import os
import pwd
import re
import shutil
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.deploy.project import Stack
from trainer_infra.deploy import backend
from trainer_infra.runs.run import Owner, owner_from_json

ID = re.compile(r"file:[-.A-Za-z0-9]+-[0-9a-f]{16}")

PLACES = [
    ("https://api.pulumi.com", "acme", "https://api.pulumi.com/acme"),
    ("https://api.pulumi.com/", "beta", "https://api.pulumi.com/beta"),
    ("https://user:pass@Pulumi.example:8080/api/", "acme", "https://pulumi.example:8080/api/acme"),
    ("", "acme", "https://api.pulumi.com/acme"),
    ("", "organization", ""),
    ("s3://states/team?region=eu-west-1&awssdk=v2", "organization", "s3://states/team"),
    (
        "s3://states?endpoint=minio.example:9000&profile=me",
        "organization",
        "s3://states?endpoint=minio.example:9000",
    ),
    ("gs://states/", "organization", "gs://states"),
    (
        "azblob://states?storage_account=acme",
        "organization",
        "azblob://states?storage_account=acme",
    ),
    (
        "postgres://me:planted@db.example:5432/pulumi?sslmode=require&table=states",
        "organization",
        "postgres://db.example:5432/pulumi?table=states",
    ),
    ("s3://[broken", "organization", ""),
]


@pytest.mark.parametrize(("url", "organization", "expected"), PLACES)
def test_a_backend_is_its_url_without_credentials_and_in_the_service_the_organization(
    url: str, organization: str, expected: str, tmp_path: Path
) -> None:
    environment = {"PULUMI_BACKEND_URL": url, "PULUMI_HOME": str(tmp_path)}
    assert backend.backend_identity(environment, {}, organization, (tmp_path,)) == expected


def test_places_are_asked_in_the_order_of_the_pulumi_command(tmp_path: Path) -> None:
    environment = {"PULUMI_HOME": str(tmp_path)}
    assert backend.backend_url(environment, {}) == ""
    credentials = tmp_path / "credentials.json"
    credentials.write_text("not JSON: it may be encrypted")
    assert backend.backend_url(environment, {}) == ""
    credentials.write_text(json.dumps({"current": "s3://current"}))
    assert backend.backend_url(environment, {}) == "s3://current"
    project = {"backend": {"url": "s3://project"}}
    assert backend.backend_url(environment, project) == "s3://project"
    assert (
        backend.backend_url(environment | {"PULUMI_BACKEND_URL": "s3://mine"}, project)
        == "s3://mine"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "credentials.json").write_text(json.dumps({"current": "s3://elsewhere"}))
    moved = environment | {"PULUMI_CREDENTIALS_PATH": str(elsewhere)}
    assert backend.backend_url(moved, {}) == "s3://elsewhere"


def _of(folder: Path) -> str:
    return backend.backend_identity(
        {"PULUMI_BACKEND_URL": f"file://{folder}"}, {}, "organization", ()
    )


def made(folder: Path) -> Path:
    (folder / ".pulumi").mkdir(parents=True)
    return folder


def test_a_folder_keeps_an_id_that_moves_with_it(tmp_path: Path) -> None:
    first, second = made(tmp_path / "first"), made(tmp_path / "second")
    known = _of(first)
    assert ID.fullmatch(known)
    assert _of(first) == known
    assert _of(second) != known
    assert [each.name for each in (first / ".pulumi").iterdir()] == [backend.ID_FILE]
    first.rename(tmp_path / "moved")
    assert _of(tmp_path / "moved") == known


def test_many_that_make_it_at_once_have_one(tmp_path: Path) -> None:
    folder = made(tmp_path / "backend")
    with ProcessPoolExecutor(4) as pool:
        found = set(pool.map(_of, [folder] * 40))
    assert len(found) == 1
    assert [each.name for each in (folder / ".pulumi").iterdir()] == [backend.ID_FILE]


def test_a_folder_that_can_keep_none_is_its_machine_and_path(tmp_path: Path) -> None:
    known = f"file://{os.uname().nodename}{tmp_path}"
    # No backend as yet: nothing is made there.
    assert _of(tmp_path) == known
    assert list(tmp_path.iterdir()) == []
    folder = made(tmp_path)
    (folder / ".pulumi" / backend.ID_FILE).mkdir()
    assert _of(tmp_path) == known


def test_a_relative_folder_begins_in_the_project(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    made(project / "states")
    elsewhere.mkdir()
    content = {"backend": {"url": "file://./states"}}
    found = backend.backend_identity({}, content, "organization", (project, elsewhere))
    assert found == _of(project / "states")


@pytest.mark.parametrize("has_entry", [True, False])
def test_the_users_folder_is_the_systems_and_home_where_it_has_none(
    has_entry: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Pulumi looks there: HOME is somebody else's after `sudo -E`, and one of many in a CI container.
    own, other = tmp_path / "own", tmp_path / "other"
    for each in (own, other):
        each.mkdir()
        made(each)
    monkeypatch.setenv("HOME", str(other if has_entry else own))
    known = {os.getuid(): SimpleNamespace(pw_dir=str(own))} if has_entry else {}
    monkeypatch.setattr(pwd, "getpwuid", known.__getitem__)
    environment: Mapping[str, str] = {"PULUMI_BACKEND_URL": "file://~"}
    assert backend.backend_identity(environment, {}, "organization", ()) == _of(own)
    assert backend.pulumi_home({}) == own / ".pulumi"


JOB = 'TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(train), suspend=True)\n'


def test_the_pulumi_command_does_not_mind_the_id_of_its_folder(
    cli_stack: Stack, tmp_path: Path
) -> None:
    cli_stack.program(JOB)
    cli_stack.preview()
    (file,) = (tmp_path / "backend").rglob(backend.ID_FILE)
    known = file.read_text()
    assert file.parent == tmp_path / "backend" / ".pulumi"
    cli_stack.up()
    assert cli_stack.job()["owner"]["backend"] == f"file:{known.strip()}"
    listed = json.loads(cli_stack.pulumi("stack", "ls", "--all", "--json"))
    assert [each["name"] for each in listed] == ["test"]
    cli_stack.pulumi("state", "upgrade", "--yes")
    cli_stack.run("stack", "history")
    cli_stack.run("stack", "rename", "other")
    cli_stack.pulumi("stack", "rename", "test", "--stack", "other")
    cli_stack.unchanged()
    cli_stack.run("destroy", "--yes")
    cli_stack.run("stack", "rm", "--yes")
    assert file.read_text() == known
    shutil.rmtree(tmp_path / "backend")


def test_what_a_program_declares_is_completed_by_the_providers_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two organizations have equal projects, stacks and resources."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PULUMI_BACKEND_URL", "https://api.pulumi.com")
    declared = {"project": "p", "stack": "dev", "urn": "u"}
    owners = [
        owner_from_json(backend.with_backend({**declared, "organization": name}))
        for name in ("acme", "beta")
    ]
    assert owners == [
        Owner("p", "dev", "u", f"https://api.pulumi.com/{name}") for name in ("acme", "beta")
    ]
    assert not owners[0].is_same(owners[1])
    assert all(each.is_same(Owner("p", "dev", "u")) for each in owners)
