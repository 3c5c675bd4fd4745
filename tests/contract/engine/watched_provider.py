"""A dynamic provider that keeps its things in files, writes down each call, and fails when told to.

A copy of this file is `watched` in the folder of each program: there the processes that serve it find it.
"""

import json
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pulumi
from pulumi.dynamic import (
    CheckFailure,
    CheckResult,
    ConfigureRequest,
    CreateResult,
    DiffResult,
    ReadResult,
    Resource,
    ResourceProvider,
    UpdateResult,
)
from typing_extensions import override

from trainer_infra.deploy import boundary
from trainer_infra.deploy.boundary import DETAIL, from_engine
from trainer_infra.deploy.operations.answers import CreateAnswer, UnfinishedOperation
from trainer_infra.errors import NotAvailable

Properties = dict[str, Any]
CALLS = Path("calls.jsonl")
CLOUD = Path("cloud")


def _note(call: str, given: Properties, **more: Any) -> Properties:
    """Write a call down, and fail where the inputs say that it does."""
    plain = from_engine(given)
    line = json.dumps({"call": call, "name": plain.get("name"), "given": plain, **more})
    with CALLS.open("a") as file:
        file.write(f"{line}\n")
    if plain.get("fails") == call:
        raise NotAvailable(f"{call} of {plain['name']} fails")
    if plain.get("kills") == call:
        _kill()
    return plain


def _kill() -> None:
    """End the engine, as a machine that loses its power does."""
    above = psutil.Process().parent()
    while above is not None and above.name() != "pulumi":
        above = above.parent()
    engine = above.pid if above is not None else os.getpid()
    os.kill(engine, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _put(id_: str, properties: Properties) -> Properties:
    CLOUD.mkdir(exist_ok=True)
    (CLOUD / id_).write_text(json.dumps(properties))
    return {**properties, "size": len(str(properties.get("text", "")))}


class WatchedProvider(ResourceProvider):
    """Its inputs: `text` is changed in place; another `key` is another thing, another `place` a new one there."""

    serialize_as_secret_always = False

    @override
    def configure(self, req: ConfigureRequest) -> None:
        boundary.configure_session(req)

    @override
    def check(self, _olds: Properties, news: Properties) -> CheckResult:
        given = _note("check", news, olds=from_engine(_olds))
        kept = {"kept": from_engine(_olds).get("kept") or given.get("text")}
        failures = [CheckFailure("", each) for each in given.get("problems", ())]
        return CheckResult({**news, **({} if given.get("bare") else kept)}, failures)

    @override
    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        old, new = from_engine(_olds), _note("diff", _news, olds=from_engine(_olds))
        replaces = [key for key in ("key", "place") if old.get(key) != new.get(key)]
        watched = ("text", "secret", "nested", "many", "json", *replaces)
        changed = [key for key in watched if old.get(key) != new.get(key)]
        if new.get("detailed"):
            DETAIL.paths = {
                each: "UPDATE_REPLACE" if each in replaces else "UPDATE" for each in changed
            }
        first = "place" in replaces
        return DiffResult(bool(changed), replaces, delete_before_replace=first)

    @override
    def create(self, props: Properties) -> CreateResult:
        given = _note("create", props)
        count = len([*CLOUD.glob(f"{given['name']}-*")])
        id_ = f"{given['name']}-{count if given.get('counted') else 'id'}"
        outputs = _put(id_, given)
        if given.get("half") == "create":
            raise UnfinishedOperation(f"{given['name']} is half made", CreateAnswer(id_, outputs))
        return CreateResult(id_, outputs)

    @override
    def read(self, id_: str, props: Properties) -> ReadResult:
        given = _note("read", props)
        if not (CLOUD / id_).is_file():
            return ReadResult("", {})
        found = json.loads((CLOUD / id_).read_text())
        inputs = {key: found[key] for key in found if key != "size"} if found != given else None
        return ReadResult(id_, {**found, "size": len(found.get("text", ""))}, inputs)

    @override
    def update(self, _id: str, _olds: Properties, _news: Properties) -> UpdateResult:
        given = _note("update", _news, olds=from_engine(_olds))
        outputs = _put(_id, given)
        if given.get("half") == "update":
            raise UnfinishedOperation(f"{given['name']} is half made", CreateAnswer(_id, outputs))
        return UpdateResult(outputs)

    @override
    def delete(self, _id: str, _props: Properties) -> None:
        _note("delete", _props)
        (CLOUD / _id).unlink(missing_ok=True)


class Thing(Resource, module="watched", name="Thing"):
    """A thing; `size` is an output."""

    size: pulumi.Output[int]
    text: pulumi.Output[str]

    def __init__(
        self, name: str, opts: pulumi.ResourceOptions | None = None, **inputs: Any
    ) -> None:
        super().__init__(WatchedProvider(), name, {"name": name, "size": None, **inputs}, opts)


class Group(pulumi.ComponentResource):
    """A component with two things, the second made of the first."""

    def __init__(
        self, name: str, opts: pulumi.ResourceOptions | None = None, text: str = "one"
    ) -> None:
        super().__init__("watched:index:Group", name, {}, opts)
        below = pulumi.ResourceOptions(parent=self)
        self.first = Thing(f"{name}-first", below, text=text)
        self.second = Thing(f"{name}-second", below, text=self.first.size.apply(str))
        self.register_outputs({"size": self.first.size})
