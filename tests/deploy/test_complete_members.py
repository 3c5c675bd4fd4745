"""Which members of a batch stay as they are with `keep_complete`, whatever its target answers."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.message_log import SAID, Heard
from tests.deploy.test_batch_members import job
from trainer_infra.deploy.operations.session import Connection, StackSession
from trainer_infra.deploy.operations.train_jobs import batch, members


@pytest.fixture
def silent(tmp_path: Path) -> StackSession:
    """A stack whose cluster does not answer."""
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    SAID.clear()
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return StackSession(Heard, connection=Connection(str(path)))


def of_code(text: str, more: str = "", **changed: Any) -> dict[str, Any]:
    files = {"main.py": "", "source/t.py": text, "args.json": f'{{"rate": "{more}"}}'}
    code = {"files": files, "packages": [], "secretArgs": False}
    spec = {"runtimeRef": {"name": "jax-distributed"}, "trainer": {"image": "team/image:1"}}
    return {**job(), "spec": spec, "code": code, **changed}


def declared(jobs: dict[str, Any]) -> dict[str, Any]:
    return {
        "resource": "sweep",
        "target": "kubernetes",
        "engine": "provider",
        "owner": {"project": "project", "stack": "test", "urn": "urn:sweep"},
        "keepComplete": True,
        "jobs": jobs,
    }


def names_of(inputs: Any) -> dict[str, str]:
    return {name: one["name"] for name, one in members.members_of(inputs).items()}


def test_where_the_cluster_does_not_answer_no_member_that_may_be_complete_is_lost(
    silent: StackSession,
) -> None:
    first = batch.check({}, declared({name: of_code("one") for name in "ab"}), silent)
    assert first.problems == ()
    image = of_code("one")
    image["spec"] = {**image["spec"], "trainer": {"image": "team/image:2"}}
    again = declared({"a": of_code("two"), "b": image, "c": of_code("two")})

    second = batch.check(first.inputs, again, silent)

    assert second.problems == ()
    assert any("which members are complete cannot be told" in each for each in SAID)
    known = names_of(second.inputs)
    assert {name: known[name] for name in "ab"} == names_of(first.inputs)


def test_what_a_member_is_told_to_do_is_no_code(silent: StackSession) -> None:
    spec = of_code("")["spec"]
    changed = {
        "arguments": of_code("two", "other"),
        "attempt": of_code("two", attempt=2),
        "namespace": of_code("two", namespace="other"),
        "nodes": of_code("two", spec={**spec, "trainer": {"numNodes": 2}}),
        "runtime": of_code("two", spec={**spec, "runtimeRef": {"name": "plain-distributed"}}),
        "code alone": of_code("two"),
    }
    first = batch.check({}, declared(dict.fromkeys(changed, of_code("one"))), silent)
    second = batch.check(first.inputs, declared(changed), silent)
    before, after = names_of(first.inputs), names_of(second.inputs)
    places = {name: one["namespace"] for name, one in members.members_of(second.inputs).items()}
    same = {name for name in changed if before[name] == after[name] and places[name] == "default"}
    assert same == {"code alone"}


def test_secrets_are_those_of_the_program(silent: StackSession) -> None:
    given = {**declared({"a": of_code("one")}), "secretData": {"a": {"t": "old"}}}
    first = batch.check({}, given, silent)
    news = {**declared({"a": of_code("two")}), "secretData": {"a": {"t": "new"}}}
    second = batch.check(first.inputs, news, silent)
    assert names_of(second.inputs) == names_of(first.inputs)
    assert second.inputs["secretData"] == {"a": {"t": "new"}}
    without = batch.check(first.inputs, declared({"a": of_code("two")}), silent)
    assert "secretData" not in without.inputs
