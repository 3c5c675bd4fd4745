"""What is to be done about a resource: the rules of Pulumi's step generator."""

import copy
import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pulumi.runtime.proto.provider_pb2 import DiffResponse, PropertyDiff
from pulumi.runtime.proto.resource_pb2 import RegisterResourceRequest

from tests.engine import differences, values
from tests.engine.differences import Difference
from tests.engine.provider_host import ProviderHost
from tests.engine.screen import CREATE, REPLACE, SAME, UPDATE, Screen
from tests.engine.state import Resource
from tests.engine.values import Properties


class Refused(Exception):
    """A resource that cannot be deployed, of which everything has been said."""


@dataclass(frozen=True)
class Options:
    """What the command was told."""

    preview: bool = False
    targets: tuple[str, ...] = ()
    """URNs, or patterns of them; everything where there are none."""
    replaced: tuple[str, ...] = ()
    """URNs of what is replaced whatever its provider says."""
    target_dependents: bool = False
    goes_on: bool = False
    """Whether a failure ends nothing but what needs it."""

    def includes(self, urn: str) -> bool:
        """Whether the command is about a resource."""
        return not self.targets or any(fnmatch.fnmatchcase(urn, each) for each in self.targets)


@dataclass
class Step:
    """What is to be done about one resource."""

    kind: str
    old: Resource | None
    new: Resource
    found: Difference | None = None
    """What the provider says that differs."""
    first: list[Resource] = field(default_factory=list)
    """What is deleted before anything else, in this order."""
    skipped: bool = False
    """Whether it is a resource that is not made, for the command is about others."""


class Planner:
    """Decides, one resource after the other, in the order in which the program asks."""

    def __init__(
        self, before: Iterable[Resource], host: ProviderHost, screen: Screen, options: Options
    ) -> None:
        self._all = list(before)
        self._olds = {each.urn: each for each in self._all if not each.delete}
        self._host = host
        self._screen = screen
        self._options = options
        self._renamed: dict[str, str] = {}
        self._condemned: set[str] = set()
        self.erred = False
        """Whether a preview went on where a deployment could not."""
        self.registered: set[str] = set()
        """URNs, those that the resources had before among them."""

    def step(self, request: RegisterResourceRequest, new: Resource) -> Step:
        """What is to be done about a resource.

        Raises:
            Refused: Nothing can be.
        """
        if new.urn in self.registered:
            self._refuse(f"Duplicate resource URN '{new.urn}'; try giving it a unique name")
        old = self._old(request, new)
        self.registered |= {new.urn} | ({old.urn} if old else set())
        if not new.custom or new.is_provider:
            changed = old is not None and old.inputs != new.inputs
            return Step(UPDATE if changed else SAME if old else CREATE, old, new)
        if not self._options.includes(new.urn):
            if old is not None:
                new = copy.copy(old)
            return Step(SAME, old, new, skipped=old is None)
        return self._custom(request, old, new)

    def _custom(
        self, request: RegisterResourceRequest, old: Resource | None, new: Resource
    ) -> Step:
        goal = new.inputs
        recreated = old is not None and old.urn in self._condemned
        forced = old is not None and new.urn in self._options.replaced
        if old is None or recreated or forced or old.external:
            new.inputs = self._checked(new, {}, goal)
        else:
            new.inputs = self._checked(new, old.inputs, self._ignored(old, new))
        if old is None:
            return Step(CREATE, old, new)
        if recreated or old.external:
            return Step(REPLACE, old, new)
        if forced:
            answer = DiffResponse(changes=DiffResponse.DIFF_SOME, replaces=["id"])
        else:
            answer = self._host.diff(old, new.inputs, new.ignore_changes)
        replaces = bool(answer.replaces) or old.pending_replacement
        if not replaces and answer.changes != DiffResponse.DIFF_SOME and not old.init_errors:
            return Step(SAME, old, new)
        if not replaces:
            return Step(UPDATE, old, new, _named(answer, old, new))
        return self._replacement(request, old, new, answer, None if forced else goal)

    def _replacement(
        self,
        request: RegisterResourceRequest,
        old: Resource,
        new: Resource,
        answer: DiffResponse,
        goal: Properties | None,
    ) -> Step:
        if old.protect and new.protect:
            self._screen.error(
                f'unable to replace resource "{new.urn}"\nas it is currently marked for protection.'
                " To unprotect the resource, remove the `protect` flag from the resource in your "
                "Pulumi program and run `pulumi up`"
            )
            if not self._options.preview:
                raise Refused
            self.erred = True
        if goal is not None:
            new.inputs = self._checked(new, {}, goal)
        first = answer.deleteBeforeReplace
        if request.deleteBeforeReplaceDefined:
            first = request.deleteBeforeReplace
        doomed = [*reversed(list(self._dependents(old))), old] if first else []
        self._condemned |= {each.urn for each in doomed}
        left = [each for each in doomed if not each.pending_replacement]
        return Step(REPLACE, old, new, _named(answer, old, new), left)

    def _dependents(self, root: Resource) -> Iterator[Resource]:
        """What has to be replaced together with a resource, for an input of it comes from there."""
        replaced = {root.urn}
        for each in self._all[self._all.index(root) + 1 :]:
            if not each.custom or each.urn in self.registered or each.urn in self._condemned:
                continue
            inputs = {
                key: values.UNKNOWN
                if replaced & set(each.property_dependencies.get(key, ()))
                else value
                for key, value in each.inputs.items()
            }
            if (
                inputs != each.inputs
                and self._host.diff(each, inputs, each.ignore_changes).replaces
            ):
                replaced.add(each.urn)
                yield each

    def _checked(self, new: Resource, olds: Properties, news: Properties) -> Properties:
        inputs, problems = self._host.check(new, olds, news)
        for each in problems:
            self._screen.error(f"{new.type} resource '{new.name}' has a problem: {each}")
        if problems:
            raise Refused
        return inputs

    def _ignored(self, old: Resource, new: Resource) -> Properties:
        """The inputs, with what was there before in the place of changes that are to be ignored."""
        inputs = copy.deepcopy(new.inputs)
        for path in new.ignore_changes:
            keys = differences.steps(path)
            differences.put(inputs, keys, differences.found(old.inputs, keys))
        return inputs

    def _old(self, request: RegisterResourceRequest, new: Resource) -> Resource | None:
        for urn in (new.urn, *self._earlier(request, new)):
            if (old := self._olds.get(urn)) is not None and urn not in self._renamed.values():
                if urn != new.urn:
                    self._renamed[new.urn] = urn
                return old
        return None

    def _earlier(self, request: RegisterResourceRequest, new: Resource) -> Iterator[str]:
        """URNs that the resource may have had, by its aliases and those of its parent."""
        before = self._renamed.get(new.parent)
        above, name = new.parent, new.name
        if before is not None:
            # The name of a child often begins with that of its component.
            inner = name_of(new.parent)
            moved = name_of(before) + name.removeprefix(inner) if name.startswith(inner) else name
            yield urn_of(new.urn, before, new.type, moved)
        for alias in request.aliases:
            spec = alias.spec
            if alias.urn or spec.parentUrn or spec.noParent:
                yield alias.urn or urn_of(
                    new.urn, spec.parentUrn, spec.type or new.type, spec.name or name
                )
                continue
            for parent in filter(None, (above, before)):
                yield urn_of(new.urn, parent, spec.type or new.type, spec.name or name)

    def _refuse(self, message: str) -> None:
        self._screen.error(message)
        raise Refused


def name_of(urn: str) -> str:
    """The name of a resource, as its URN has it."""
    return urn.rpartition("::")[2]


def urn_of(place: str, parent: str, type_: str, name: str) -> str:
    """The URN of a resource.

    Args:
        place: any URN of the stack.
        parent: URN of its parent; empty where that is the stack.
        type_: of the resource.
        name: of the resource.
    """
    room = "::".join(place.split("::")[:2])
    above = parent.split("::")[2] if parent else ""
    inner = f"{above}${type_}" if above and above != "pulumi:pulumi:Stack" else type_
    return f"{room}::{inner}::{name}"


def _named(answer: DiffResponse, old: Resource, new: Resource) -> Difference | None:
    if not answer.hasDetailedDiff:
        return None
    kinds = PropertyDiff.Kind
    paths = {
        path: (kinds.Name(each.kind), each.inputDiff) for path, each in answer.detailedDiff.items()
    }
    return differences.named(paths, {True: old.inputs, False: old.outputs}, new.inputs)
