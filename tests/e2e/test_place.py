"""One cluster is one place, whoever asks and however; on a real cluster, where it matters by the real CLI."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from from_source.cluster import apiserver
from tests.deploy.project import Stack
from tests.e2e import accounts
from tests.e2e.accounts import Account
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import LONG, eventually
from tests.e2e.slow_link import slow_link
from tests.soak_sample import sampled

JOB = """
TrainJob("job", runtime="torch-distributed", name="digits", namespace=NS, suspend={suspend},
         trainer={{"numNodes": 1}})
"""

BATCH = """
from trainer_infra import TrainJobs
one = {"runtime": "torch-distributed", "namespace": NS, "suspend": True, "trainer": {}}
TrainJobs("sweep", {"a": one, "b": {**one, "attempt": 2}})
"""


def program(*, suspend: bool = True) -> str:
    return PROGRAM + JOB.format(suspend=suspend)


@pytest.fixture
def image() -> str:
    """No pod runs here."""
    return "none"


@pytest.fixture
def account(namespace: Namespace, tmp_path: Path) -> Account:
    """An account with rights in the namespace only."""
    return accounts.made(namespace, "ci", tmp_path)


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """The kubeconfig of another cluster."""
    with apiserver.running() as (_, kubeconfig):
        yield kubeconfig


@pytest.fixture
def stack(new_stack: Callable[[str], Stack]) -> Stack:
    made = new_stack("place")
    made.program(program())
    return made


@pytest.fixture
def cli_stack(new_cli_stack: Callable[[str], Stack]) -> Stack:
    """One of the real CLI, which opens secrets, and hands its own options to what it starts."""
    made = new_cli_stack("place")
    made.program(program())
    return made


def use(stack: Stack, kubeconfig: Path | str, *secret: str) -> None:
    stack.run("config", "set", *secret, "trainer:kubeconfig", str(kubeconfig))


def refresh(stack: Stack, *, ok: bool = True) -> str:
    return stack.run("refresh", "--yes", ok=ok)


def destroy(stack: Stack, *, ok: bool = True) -> str:
    return stack.run("destroy", "--yes", ok=ok)


def job(stack: Stack) -> dict[str, Any]:
    """What the state has of the run; the engine encrypts its own part anew each time."""
    return {key: each for key, each in stack.job().items() if key != "__provider"}


def uids(namespace: Namespace) -> list[str]:
    return [each["metadata"]["uid"] for each in namespace.all("jobsets")]


@pytest.mark.parametrize("first", sampled(["account", "admin"], every=2))
def test_a_run_is_on_one_cluster_for_an_administrator_and_for_who_may_read_one_namespace(
    stack: Stack, namespace: Namespace, account: Account, first: str
) -> None:
    both = [account.kubeconfig, namespace.kubeconfig]
    one, other = both if first == "account" else reversed(both)
    use(stack, one)
    stack.up()
    before = job(stack)

    use(stack, other)
    refresh(stack)
    assert job(stack) == before
    stack.unchanged()
    stack.program(program(suspend=False))
    stack.up()
    assert [each["spec"]["suspend"] for each in namespace.all("jobsets")] == [False]
    assert stack.job()["uid"] == before["uid"]
    destroy(stack)
    assert namespace.names("jobsets") == []


@pytest.mark.soak
def test_two_addresses_of_one_cluster_are_one_place(
    stack: Stack, account: Account, namespace: Namespace, tmp_path: Path
) -> None:
    use(stack, account.kubeconfig)
    stack.up()
    before = job(stack)
    other = tmp_path / "other-address"
    with slow_link(account.kubeconfig, other):
        use(stack, other)
        assert "unchanged" in refresh(stack)
        assert job(stack) == before
        destroy(stack)
    assert namespace.names("jobsets") == []


UNKNOWN = (
    "does not know the user; sign in again",
    "sign in again: the credentials in the kubeconfig are unknown to it, or have expired",
)
"""What is said to an account that the cluster does not know: of an object, and of any request."""


@pytest.mark.soak
def test_a_token_that_was_revoked_is_not_another_cluster(
    cli_stack: Stack, account: Account, namespace: Namespace
) -> None:
    use(cli_stack, account.kubeconfig)
    cli_stack.up()
    before = job(cli_stack)
    account.revoke()
    # The API server knows a token for ten seconds more.
    said = eventually(lambda: _refused(cli_stack), 60)
    refused = destroy(cli_stack, ok=False)
    cli_stack.program(program().replace("digits", "another"))
    for shown in (said, refused, cli_stack.preview(), cli_stack.up(ok=False)):
        assert account.token not in shown
        assert any(each in shown for each in UNKNOWN)
        assert "Traceback" not in shown
    assert job(cli_stack) == before

    use(cli_stack, namespace.kubeconfig)
    refresh(cli_stack)
    assert job(cli_stack) == before
    destroy(cli_stack)
    assert namespace.names("jobsets") == []


def _refused(stack: Stack) -> str:
    process = stack.start("refresh", "--yes")
    said, _ = process.communicate(timeout=LONG)
    return said if process.returncode else ""


@pytest.mark.parametrize("who", sampled(["account", "admin"], every=2))
def test_on_another_cluster_refresh_keeps_the_run_and_destroy_refuses(
    stack: Stack, account: Account, namespace: Namespace, elsewhere: Path, who: str
) -> None:
    use(stack, account.kubeconfig if who == "account" else namespace.kubeconfig)
    stack.up()
    before, jobsets = job(stack), uids(namespace)
    if who == "account":
        other = Namespace(namespace.name, elsewhere, namespace.program)
        other.kubectl("create", "namespace", other.name)
        authority = yaml.safe_load(elsewhere.read_text())["clusters"][0]["cluster"]
        file = f"--from-file=ca.crt={authority['certificate-authority']}"
        other.kubectl("create", "configmap", "kube-root-ca.crt", file)

    use(stack, elsewhere)
    assert f"TrainJob digits runs on {before['host']}, not on" in refresh(stack)
    assert job(stack) == {**before, "lastSeen": f"unknown (on {before['host']})"}
    assert f"TrainJob digits runs on {before['host']}, not on" in destroy(stack, ok=False)
    assert uids(namespace) == jobsets

    use(stack, namespace.kubeconfig)
    refresh(stack)
    assert job(stack) == before


@pytest.mark.soak
def test_a_batch_is_where_its_runs_are(
    stack: Stack, account: Account, namespace: Namespace, elsewhere: Path
) -> None:
    def batch() -> dict[str, Any]:
        (found,) = stack.resources("trainer:TrainJobs")
        return {key: found["outputs"][key] for key in ("host", "members")}

    stack.program(PROGRAM + BATCH)
    use(stack, account.kubeconfig)
    stack.up()
    before = batch()
    use(stack, elsewhere)
    assert "TrainJobs sweep is not on" in refresh(stack)
    assert batch()["host"] == before["host"]
    assert "cannot be told" in destroy(stack, ok=False)
    assert len(uids(namespace)) == 2

    use(stack, namespace.kubeconfig)
    _rewrite(stack, "cluster authority 0123456789abcdef")
    assert "which was known as cluster authority 0123456789abcdef" in refresh(stack)
    assert batch()["members"] == before["members"]
    assert "was known as" not in refresh(stack)
    destroy(stack)
    assert namespace.names("jobsets") == []


def test_where_it_cannot_be_told_whether_it_is_the_cluster_nothing_is_dropped_or_deleted(
    stack: Stack, account: Account, namespace: Namespace, elsewhere: Path
) -> None:
    use(stack, account.kubeconfig)
    stack.up()
    before, jobsets = job(stack), uids(namespace)
    use(stack, elsewhere)
    assert "cannot be told" in refresh(stack)
    assert job(stack) == {**before, "lastSeen": f"unknown (on {before['host']})"}
    assert "cannot be told" in destroy(stack, ok=False)
    assert uids(namespace) == jobsets


@pytest.mark.soak
def test_what_an_earlier_release_wrote_is_still_the_same_cluster(
    stack: Stack, account: Account, namespace: Namespace, kubeconfig: Path
) -> None:
    use(stack, account.kubeconfig)
    stack.up()
    known = namespace.kubectl("get", "namespaces", "kube-system", "-o", "jsonpath={.metadata.uid}")
    server = json.loads(account.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    for host in (f"cluster {known}", server):
        _rewrite(stack, host)
        for each in (account.kubeconfig, kubeconfig):
            use(stack, each)
            assert "unchanged" in refresh(stack)
            assert stack.job()["host"] == host
            stack.unchanged()


@pytest.mark.soak
def test_a_cluster_whose_identity_changed_is_said_once_and_kept(
    stack: Stack, account: Account
) -> None:
    use(stack, account.kubeconfig)
    stack.up()
    before = job(stack)
    _rewrite(stack, "cluster authority 0123456789abcdef")
    said = refresh(stack)
    assert "TrainJob digits is on cluster authority " in said
    assert "which was known as cluster authority 0123456789abcdef" in said
    assert job(stack) == before
    assert "was known as" not in refresh(stack)


def _rewrite(stack: Stack, host: str) -> None:
    """Make the state one that has this host."""
    state: dict[str, Any] = json.loads(stack.export())
    for each in state["deployment"]["resources"]:
        if each["type"].rpartition(":")[2] in {"TrainJob", "TrainJobs"}:
            each["outputs"]["host"] = host
    file = stack.folder / "state.json"
    file.write_text(json.dumps(state))
    stack.run("stack", "import", "--file", str(file))


NOWHERE = "/does/not/exist"


def test_refresh_and_destroy_use_the_kubeconfig_that_is_configured_now(
    cli_stack: Stack, namespace: Namespace
) -> None:
    cli_stack.up()
    before = job(cli_stack)
    use(cli_stack, NOWHERE)
    for shown in (refresh(cli_stack, ok=False), destroy(cli_stack, ok=False)):
        assert f"the kubeconfig {NOWHERE} does not exist" in shown
        assert "Traceback" not in shown
    assert job(cli_stack) == before
    cli_stack.program(program().replace("digits", "another"))
    assert NOWHERE in cli_stack.preview()
    assert NOWHERE in cli_stack.up(ok=False)

    use(cli_stack, namespace.kubeconfig)
    destroy(cli_stack)
    assert namespace.names("jobsets") == []


@pytest.mark.soak
def test_a_context_that_is_configured_now_is_used(
    stack: Stack, namespace: Namespace, elsewhere: Path, tmp_path: Path
) -> None:
    parts = {"here": namespace.kubeconfig, "there": elsewhere}
    both: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": "here"}
    for key, inner in (("clusters", "cluster"), ("users", "user")):
        both[key] = [
            {"name": name, inner: yaml.safe_load(file.read_text())[key][0][inner]}
            for name, file in parts.items()
        ]
    both["contexts"] = [
        {"name": each, "context": {"cluster": each, "user": each}} for each in parts
    ]
    file = tmp_path / "both"
    file.touch(mode=0o600)
    file.write_text(json.dumps(both))
    use(stack, file)
    stack.up()
    before = job(stack)
    stack.run("config", "set", "trainer:context", "there")
    refresh(stack)
    assert job(stack)["lastSeen"] == f"unknown (on {before['host']})"
    destroy(stack, ok=False)
    stack.run("config", "set", "trainer:context", "here")
    refresh(stack)
    assert job(stack) == before
    destroy(stack)
    assert namespace.names("jobsets") == []


@pytest.mark.soak
def test_a_kubeconfig_that_is_a_secret_is_opened_as_it_is_now(
    cli_stack: Stack, account: Account, namespace: Namespace
) -> None:
    use(cli_stack, account.kubeconfig.read_text(), "--secret")
    cli_stack.up()
    before = job(cli_stack)
    account.revoke()
    eventually(lambda: _refused(cli_stack), 60)
    renewed = accounts.made(namespace, "renewed", account.kubeconfig.parent)
    use(cli_stack, renewed.kubeconfig.read_text(), "--secret")
    shown = refresh(cli_stack)
    assert job(cli_stack) == before
    assert renewed.token not in shown + destroy(cli_stack)
    assert namespace.names("jobsets") == []


def test_where_the_configured_kubeconfig_cannot_be_opened_that_is_said_with_what_helps(
    cli_stack: Stack, account: Account, namespace: Namespace, tmp_path: Path
) -> None:
    cli_stack.up()
    use(cli_stack, account.kubeconfig.read_text(), "--secret")
    # As where the passphrase was typed at the terminal, which the serving process does not have.
    command = tmp_path / "bin" / "pulumi"
    command.parent.mkdir()
    real = shutil.which("pulumi", path=cli_stack.env["PATH"])
    refusal = '[ "$1" = config ] && { echo "error: incorrect passphrase" >&2; exit 255; }'
    command.write_text(f'#!/bin/sh\n{refusal}\nexec {real} "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{cli_stack.env['PATH']}"
    shown = Stack(cli_stack.folder, {**cli_stack.env, "PATH": path}).run("refresh", "--yes")
    assert "trainer:kubeconfig of stack test cannot be read: error: incorrect passphrase" in shown
    assert f"the kubeconfig {namespace.kubeconfig} of the last `pulumi up` is used" in shown
    assert "--run-program" in shown
    assert account.token not in shown


@pytest.mark.soak
def test_a_configuration_file_that_the_command_names_is_the_one_that_counts(
    cli_stack: Stack, tmp_path: Path
) -> None:
    file = tmp_path / "other.yaml"
    own = cli_stack.folder / "Pulumi.test.yaml"
    shutil.copy(own, file)
    cli_stack.run("up", "--yes", "--skip-preview", "--config-file", str(file))
    before = job(cli_stack)
    use(cli_stack, NOWHERE)
    cli_stack.run("refresh", "--yes", "--config-file", str(file))
    cli_stack.run("refresh", "--yes", f"--config-file={os.path.relpath(file, cli_stack.folder)}")
    assert job(cli_stack) == before
    assert NOWHERE in refresh(cli_stack, ok=False)
    cli_stack.run("destroy", "--yes", "--config-file", str(file))
