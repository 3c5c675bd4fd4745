"""What every component of the platform is: a typed ComponentResource whose mistakes are sentences."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, cast

import pulumi

from trainer_infra.deploy.destroy_guard_resource import GuardedCluster, OwnerCheck
from trainer_infra.deploy.program_value import require_program
from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_types import type_problems
from trainer_infra.platform.manifests.object_resources import Resources, object_resources

Args = TypeVar("Args", bound=Mapping[str, Any])
Options: TypeAlias = pulumi.ResourceOptions | None
"""Options of a component, if the program has some."""


def declared_keys(*resources: pulumi.Resource) -> frozenset[str]:
    """`Kind/name`, or `Kind/namespace/name`, of every object that these and their children declare."""
    children = [each for parent in resources for each in parent._childResources]  # noqa: SLF001  the SDK's only door
    own = (key for each in resources for key in getattr(each, "resources", ()))
    return frozenset(own) | (declared_keys(*children) if children else frozenset())


class PlatformComponent(pulumi.ComponentResource):
    """A part of the platform; a program depends on all that it holds by depending on it.

    Every one takes a `resource_name`, which is the beginning of its resources' names too, `opts`, options of the
    component, and the arguments of a TypedDict of its own.
    """

    resources: Resources = MappingProxyType({})
    """The objects that it declares itself, by `Kind/name` or `Kind/namespace/name`."""

    _arguments: type
    _examples: ClassVar[Mapping[str, str]] = {}
    """What to write of arguments whose types are easily mistaken."""

    def __init__(self, resource_name: str, args: Mapping[str, Any], opts: Options) -> None:
        """Judge the arguments, of which one that is None is not given, and register the component."""
        kind = type(self).__name__
        self._where: Final = f"{kind} {resource_name}"
        require_program(self._where)
        with self.sentences():
            if problems := self._type_problems(args):
                raise InvalidInput(problems)
            given = without_none(args)
            guard: bool | GuardedCluster = given.get("guard", True)
            if problems := [*_guard_problems(guard), *self.judge_arguments(given)]:
                raise InvalidInput(problems)
        self._is_guarded: Final = guard is not False
        self._guarded_cluster: Final = guard if isinstance(guard, Mapping) else None
        before = [each for each in self._references(given) if isinstance(each, pulumi.Resource)]
        after = pulumi.ResourceOptions(depends_on=before)
        merged = pulumi.ResourceOptions.merge(opts, after)
        super().__init__(f"trainer:index:{kind}", resource_name, None, merged)

    @classmethod
    def judge_arguments(cls, args: Any) -> Iterable[Problem]:  # noqa: ARG003  for a subclass
        """What is wrong with arguments whose types are as their annotations say."""
        return ()

    def _references(self, args: Any) -> Iterable[object]:  # noqa: ARG002  for a subclass
        """What the arguments name, as names or as components, which come before this one."""
        return ()

    def _type_problems(self, args: Mapping[str, Any]) -> Sequence[Problem]:
        return [*map(self._with_example, type_problems(args, self._arguments, ()))]

    def _with_example(self, problem: Problem) -> Problem:
        """Of an argument or of an entry of it; a field inside says enough by its name."""
        place = re.fullmatch(r"(\w+)(\[.*\])?", problem.path)
        if problem.fix or place is None or place[1] not in self._examples:
            return problem
        return replace(problem, fix=f"write {self._examples[place[1]]}")

    @contextmanager
    def sentences(self) -> Iterator[None]:
        """End the program with the problems of this component, without a traceback."""
        try:
            yield
        except InvalidInput as error:
            problems = (
                replace(each, where=f"{self._where}: {each.where}".removesuffix(": "))
                for each in error.problems
            )
            raise pulumi.RunError("\n".join(map(str, problems))) from None
        except NotAvailable as error:
            raise pulumi.RunError(f"{self._where}: {error}") from None

    def _declare_objects(
        self,
        objects: Iterable[JSONObject],
        options: Options = None,
        imported: Collection[str] = (),
        after: Sequence[pulumi.Resource] = (),
    ) -> Resources:
        """Declare objects as its children; see `object_resources`."""
        with self.sentences():
            return object_resources(objects, self, options, imported, after)

    def _owner_check(self, namespaces: Iterable[str]) -> Sequence[pulumi.Resource]:
        """What comes before everything that the component installs; nothing where nothing guards it."""
        if not self._is_guarded:
            return ()
        opts = pulumi.ResourceOptions(parent=self)
        name = f"{self._name}:owner"
        return (OwnerCheck(name, namespaces, cluster=self._guarded_cluster, opts=opts),)


def without_none(args: Args) -> Args:
    """The arguments that are given: one that is None is not."""
    return cast("Args", {key: each for key, each in args.items() if each is not None})


def _guard_problems(guard: bool | GuardedCluster) -> Iterator[Problem]:
    if isinstance(guard, Mapping) and "\n" in str(guard.get("kubeconfig", "")):
        what = (
            "must be a path: the text of a kubeconfig has credentials, which the state would keep"
        )
        yield Problem("guard.kubeconfig", what)
