"""What is judged: an object as it was written, and what it renders to.

Made by `review` from files and by `deploy` from a resource's inputs, with `of`; pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from trainer_infra import names
from trainer_infra.api import manifests
from trainer_infra.api.finding import Path
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.rules import rendering, written
from trainer_infra.rules.value import Root, Unseen, Value, Written

JSON = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AnyRuntime:
    """A runtime that TrainJobs refer to."""

    wire: JSON
    """As it was written."""
    typed: Runtime | None
    """None where something is wrong with it, which is its own finding where it is judged."""

    @classmethod
    def read(cls, wire: JSON) -> "AnyRuntime":
        """The runtime in wire form."""
        try:
            parsed = manifests.parse(wire)
        except InvalidInput:
            return cls(wire, None)
        return cls(wire, None if isinstance(parsed, TrainJob) else parsed)


@dataclass(frozen=True, slots=True)
class Subject:
    """An object that is judged, with all that is known of it."""

    object: Value
    """The object as it was written."""
    runtime: Value | None = None
    """The runtime that a TrainJob refers to; None where it is not found, and for other kinds."""
    runtime_is_judged: bool = False
    """Whether that is a subject too: rules say of it what is wrong with it."""
    rendered: tuple[Value, ...] = ()
    """What a TrainJob renders to, in apply order."""
    problems: tuple[Problem, ...] = ()
    """Why it renders to nothing."""
    unseen: tuple[Path, ...] = ()
    """Values that may change what it renders to and are not known."""
    _places: dict[Any, tuple[tuple[Any, ...], tuple[Path, ...]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def kind(self) -> str:
        """The kind; empty where none is written."""
        return _text(self.object["kind"])

    @property
    def api_version(self) -> str:
        """The apiVersion; empty where none is written."""
        return _text(self.object["apiVersion"])

    @property
    def name(self) -> str:
        """The object's name; empty where it is not known."""
        return _text(self.object.at("metadata", "name"))

    @property
    def namespace(self) -> str:
        """The object's namespace; empty where it has none, or it is not known."""
        return _text(self.object.at("metadata", "namespace"))

    @property
    def ml_policy(self) -> Value:
        """The mlPolicy of the runtime that it is or runs on; absent for other kinds."""
        runtime = self.runtime or self.object
        return runtime.at("spec", "mlPolicy")

    def rendered_of(self, kind: str) -> Iterator[Value]:
        """The objects of a kind that it renders to."""
        return (each for each in self.rendered if each["kind"].raw == kind)

    @property
    def noted(self) -> dict[Path, None]:
        """What was not known among what was read of it, since somebody last emptied it."""
        return self.object.root.unseen

    def places(
        self, find: Callable[["Subject"], Iterable[T]]
    ) -> tuple[tuple[T, ...], tuple[Path, ...]]:
        """What a function finds in it, found once for all rules; and what could not be seen."""
        if find not in self._places:
            before = tuple(self.noted)
            self.noted.clear()
            found = tuple(self._seen(find))
            self._places[find] = (found, tuple(self.noted))
            self.noted.clear()
            self.noted.update(dict.fromkeys(before))
        return self._places[find]

    def _seen(self, find: Callable[["Subject"], Iterable[T]]) -> Iterator[T]:
        """What it finds until something without which it cannot go on is not known."""
        try:
            yield from find(self)
        except Unseen as error:
            self.noted[error.path] = None

    def once(self, find: Callable[["Subject"], Iterable[T]]) -> tuple[T, ...]:
        """What a function finds in it, found once for all rules; what it could not see is noted."""
        found, unseen = self.places(find)
        if unseen:
            self.noted.update(dict.fromkeys(unseen))
        return found

    def forget(self) -> None:
        """Lets go of what was kept to be read again by the next rule."""
        self._places.clear()
        runtime = () if self.runtime is None else (self.runtime,)
        for each in (self.object, *self.rendered, *runtime):
            each.forget()


def of(value: JSON, runtime: AnyRuntime | None = None, behaviour: Behaviour = OURS) -> Subject:
    """The object with what it renders to.

    Args:
        value: As it was written; unknown values may stand in it.
        runtime: What a TrainJob refers to; None where there is none.
        behaviour: What renders it.
    """
    subject = Subject(Value(value, Root()))
    if subject.kind != names.TRAIN_JOB or runtime is None:
        return subject
    root = Root(written=_inherited, unseen=subject.noted)
    subject = replace(subject, runtime=Value(runtime.wire, root))
    if runtime.typed is None:
        return subject
    made = rendering.of(value, runtime.typed, behaviour)
    return given(subject, made.objects, made.problems, made.unseen)


def given(
    subject: Subject,
    objects: Iterable[JSON],
    problems: tuple[Problem, ...] = (),
    unseen: tuple[Path, ...] = (),
) -> Subject:
    """The subject with objects that it renders to."""
    rendered = tuple(_rendered(subject, each, unseen) for each in objects)
    return replace(subject, rendered=rendered, problems=problems, unseen=unseen)


def _rendered(subject: Subject, value: JSON, unseen: Iterable[Path]) -> Value:
    called = value.get("metadata", {}).get("name")
    name = f"{value.get('kind')} {called if isinstance(called, str) else ''}".rstrip()
    if value.get("kind") != names.JOBSET:
        return Value(value, Root(name, _inherited, subject.noted))
    job = subject.object.raw
    where = partial(written.in_train_job, job, value)
    return Value(value, Root(name, where, subject.noted, tuple(written.gaps(job, value, unseen))))


def _inherited(_path: Path) -> Written:
    return written.INHERITED


def _text(value: Value) -> str:
    return value.raw if isinstance(value.raw, str) else ""
