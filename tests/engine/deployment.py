"""One operation on a stack: steps are planned one after the other, and done side by side."""

import copy
import dataclasses
import itertools
import threading
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pulumi.runtime.proto.provider_pb2 import DiffResponse
from pulumi.runtime.proto.resource_pb2 import RegisterResourceRequest, Result

from tests.engine import differences, values
from tests.engine.planner import Options, Planner, Refused, Step
from tests.engine.provider_host import Made, ProviderFailed, ProviderHost
from tests.engine.screen import DELETE, DISCARD, READ, REPLACE, SAME, UPDATE, Screen
from tests.engine.state import Resource, Snapshot
from tests.engine.values import Properties

PROTECTED = (
    'resource "{urn}" cannot be deleted\nbecause it is protected. To unprotect the resource, either '
    "remove the `protect` flag from the resource in your Pulumi program and run `pulumi up`, or use "
    "the command:\n`pulumi state unprotect '{urn}'`"
)
T = TypeVar("T")
U = TypeVar("U")


class Stopped(Exception):
    """Something has failed: nothing is begun any more."""


class Deployment:
    """Does what a program asks for, and then away with what it does not ask for any more."""

    def __init__(
        self, snapshot: Snapshot, host: ProviderHost, screen: Screen, options: Options
    ) -> None:
        self._snapshot = snapshot
        self._host = host
        self._screen = screen
        self._options = options
        self._planner = Planner(snapshot.before, host, screen, options)
        self._planning = threading.Lock()
        self._made: dict[str, Resource] = {}
        self._unmade: set[str] = set()
        self._stack_outputs: Properties | None = None
        self.failed = False
        """Whether anything has failed."""
        self.broken = False
        """Whether that was a step, and not what comes before it."""

    def register(
        self, request: RegisterResourceRequest, new: Resource
    ) -> tuple[Resource, "Result.ValueType"]:
        """Make a resource what a program says, and tell how it is now.

        Raises:
            Stopped: This failed, or something else had.
        """
        with self._planning:
            if self.failed and not self._options.goes_on:
                raise Stopped
            step = self._planned(request, new)
        if new.needs & self._unmade:
            self._unmade.add(new.urn)
            return new, Result.FAIL
        try:
            self._do(step)
        except ProviderFailed as error:
            self._fail(str(error))
            if not self._options.goes_on:
                raise Stopped from None
            self._unmade.add(new.urn)
            return step.new, Result.FAIL
        self._made[step.new.urn] = step.new
        return step.new, Result.SUCCESS

    def register_outputs(self, urn: str, outputs: Properties) -> None:
        """Take the outputs of a component, or of the stack."""
        resource = self._made[urn]
        if resource.is_stack:
            self._stack_outputs = outputs
        else:
            resource.outputs = outputs
            self._snapshot.end(None)

    def read(self, new: Resource) -> None:
        """Take a resource that is there, and not the program's own."""
        old = next((each for each in self._snapshot.before if each.urn == new.urn), None)
        self._planner.registered.add(new.urn)
        self._made[new.urn] = new
        self._screen.step(READ, old, new)
        self._screen.outputs(dataclasses.replace(new, inputs={}), old.outputs if old else None)
        self._snapshot.end(None, gone=old, new=new)

    def finish(self, *, ended_well: bool) -> None:
        """Delete what the program did not ask for, and take the stack's outputs.

        Args:
            ended_well: whether the program did.
        """
        self.failed |= not ended_well
        self.broken |= self._planner.erred
        if not self.failed:
            seen = self._planner.registered
            left = (each.delete or each.urn not in seen for each in self._snapshot.resources)
            self.delete(itertools.compress(self._snapshot.resources, left))
        root = next((each for each in self._made.values() if each.is_stack), None)
        if root is not None and self._stack_outputs is not None:
            before = next((each.outputs for each in self._snapshot.before if each.is_stack), None)
            root.outputs = (root.outputs if self.failed else {}) | self._stack_outputs
            self._screen.outputs(root, before)
            self._snapshot.end(None)
        self.failed |= self.broken

    def delete(self, doomed: Iterable[Resource]) -> None:
        """Delete resources, each after all that need it; but those that the command is not about."""
        left = list(doomed)
        for each in left:
            if not self._options.includes(each.urn):
                self._screen.step(SAME, each, each)
                self._screen.count(SAME, each)
        left = [each for each in left if self._options.includes(each.urn)]
        while left:
            needed = set().union(*(each.needs for each in left))
            last = [each for each in left if each.urn not in needed] or left
            done = _side_by_side(self._deleted, last)
            kept = [each for each, gone in zip(last, done, strict=True) if not gone]
            if any(not each.protect for each in kept) and not self._options.goes_on:
                return
            spared = _all_needed(kept, left)
            left = [each for each in left if each not in last and each.urn not in spared]

    def refresh(self) -> None:
        """Take every resource as its provider finds it."""
        found = _side_by_side(self._looked_at, self._snapshot.before)
        left = [each for each in found if each is not None]
        there = {each.urn for each in left}
        for each in left:
            each.dependencies = [urn for urn in each.dependencies if urn in there]
            dependencies = each.property_dependencies.items()
            each.property_dependencies = {
                key: kept for key, urns in dependencies if (kept := [e for e in urns if e in there])
            }
        self._snapshot.rebuild(left)
        for each in left:
            if each.is_stack:
                self._screen.outputs(each, each.outputs)

    def _planned(self, request: RegisterResourceRequest, new: Resource) -> Step:
        try:
            return self._planner.step(request, new)
        except (ProviderFailed, Refused) as error:
            self._fail(str(error), planning=True)
            # Nothing goes on after what cannot be planned, whatever the command was told.
            self._options = Options(preview=self._options.preview)
            raise Stopped from None

    def _do(self, step: Step) -> None:
        old, new = step.old, step.new
        if step.kind == SAME or not new.custom or new.is_provider:
            self._take_over(step)
            return
        for each in step.first:
            self._delete_first(each)
        if step.kind == REPLACE and old is not None and not old.pending_replacement:
            # What is made first is shown as it has become.
            made = self._make(step)
            self._screen.step(step.kind, old, new, step.found)
        else:
            self._screen.step(step.kind, old, new, step.found)
            made = self._made_later(step)
        if made.failure:
            raise ProviderFailed(f"1 error occurred:\n\t* {made.failure}\n\n")
        if old is None or not (old.pending_replacement or old.init_errors):
            self._screen.outputs(new, old.outputs if old else None)
        if old is None or not old.pending_replacement:
            self._screen.count(step.kind, new)

    def _made_later(self, step: Step) -> Made:
        """Make a resource; of one that takes the place of another, that is gone already."""
        if step.kind == REPLACE and step.old is not None:
            self._screen.gone(step.old)
            self._screen.count(step.kind, step.new)
        return self._make(step)

    def _make(self, step: Step) -> Made:
        """Have a provider create or update a resource, and note what came of it."""
        old, new = step.old, step.new
        noted, updates = None, step.kind == UPDATE and old is not None
        if not self._options.preview:
            noted = self._snapshot.begin("updating" if updates else "creating", new)
        try:
            made = self._asked(old if updates else None, new)
        except ProviderFailed:
            self._snapshot.end(noted)
            raise
        new.id, new.outputs = made.id, made.outputs
        new.init_errors = [made.failure] * bool(made.failure)
        if made.failure and updates and old is not None:
            new.inputs = old.inputs
        _keep_secrets(new)
        stays = step.kind == REPLACE and old is not None and not old.pending_replacement
        if stays and old is not None:
            old.delete = True
        self._snapshot.end(noted, gone=None if stays else old, new=new)
        return made

    def _asked(self, old: Resource | None, new: Resource) -> Made:
        if self._options.preview:
            # No provider of ours is asked at a preview.
            return Made(old.id if old else "", dict(new.inputs))
        return self._host.update(old, new) if old else self._host.create(new)

    def _take_over(self, step: Step) -> None:
        """Do a step for which no provider is asked."""
        old, new = step.old, step.new
        self._screen.step(step.kind, old, new)
        self._screen.count(step.kind, new)
        if step.kind == SAME and old is not None:
            new.id, new.outputs = old.id, old.outputs
            _keep_secrets(new)
        elif new.is_provider:
            made = values.UNKNOWN if self._options.preview else str(uuid.uuid4())
            new.id, new.outputs = old.id if old else made, new.inputs
        if not step.skipped:
            self._snapshot.end(None, gone=old, new=new)

    def _delete_first(self, old: Resource) -> None:
        """Delete what another resource takes the place of."""
        if not self._options.preview:
            noted = self._snapshot.begin("deleting", old)
            try:
                self._take_away(old)
            finally:
                self._snapshot.end(noted)
        old.pending_replacement = True
        self._snapshot.end(None)

    def _deleted(self, old: Resource) -> bool:
        """Delete a resource; whether it is gone."""
        kind = DISCARD if old.external else DELETE
        if not old.delete and not old.pending_replacement:
            self._screen.step(kind, old, None)
        if old.protect and not old.delete:
            self._fail(PROTECTED.format(urn=old.urn))
            return False
        noted = None
        try:
            if not self._options.preview and not old.pending_replacement:
                noted = self._snapshot.begin("deleting", old)
                self._take_away(old)
        except ProviderFailed as error:
            self._snapshot.end(noted)
            self._fail(str(error))
            return False
        self._snapshot.end(noted, gone=old)
        if not old.delete and not old.pending_replacement:
            self._screen.count(kind, old)
            self._screen.gone(old)
        return True

    def _take_away(self, old: Resource) -> None:
        if old.custom and not (old.is_provider or old.external or old.retain_on_delete):
            self._host.delete(old)

    def _looked_at(self, old: Resource) -> Resource | None:
        """A resource as its provider finds it; None where it is gone."""
        new = copy.copy(old)
        if not self._options.includes(old.urn):
            return new
        if not old.custom or old.is_provider or old.external:
            self._screen.step(SAME, old, new)
            self._screen.count(SAME, new)
            return new
        try:
            new.id, new.inputs, new.outputs = self._host.read(old)
            if not new.id:
                self._screen.step(DELETE, dataclasses.replace(old, inputs={}), None)
                self._screen.count(DELETE, old)
                self._screen.gone(old)
                return None
            answer = self._host.diff(new, old.inputs, old.ignore_changes)
        except ProviderFailed as error:
            self._fail(str(error))
            return old
        new.init_errors = []
        _keep_secrets(new)
        kind = UPDATE if answer.changes == DiffResponse.DIFF_SOME else SAME
        self._screen.step(kind, old, new, differences.between(old.outputs, new.outputs))
        self._screen.count(kind, new)
        return new

    def _fail(self, message: str, *, planning: bool = False) -> None:
        self.failed = True
        self.broken |= not planning
        self._screen.failures += not planning
        if message:
            self._screen.error(message)


def _keep_secrets(resource: Resource) -> None:
    """Mark the outputs that are to be secret, and those that have the name of a secret input."""
    marked = {key for key, each in resource.inputs.items() if values.is_secret(each)}
    for key in marked | set(resource.additional_secret_outputs):
        if key in resource.outputs:
            resource.outputs[key] = values.secret(resource.outputs[key])


def _all_needed(kept: Iterable[Resource], among: Iterable[Resource]) -> set[str]:
    """URNs of all that some resources need, directly or not."""
    by_urn = {each.urn: each for each in among}
    found: set[str] = set()
    ahead = [urn for each in kept for urn in each.needs]
    while ahead:
        urn = ahead.pop()
        if urn not in found:
            found.add(urn)
            ahead += by_urn[urn].needs if urn in by_urn else ()
    return found


def _side_by_side(do: Callable[[T], U], each: Iterable[T]) -> list[U]:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(do, each))
