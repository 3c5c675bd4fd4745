"""What is judged: an object as it was written, and what it renders to.

Made by `review` from files and by `deploy` from a resource's inputs, with `subject_of`; pure.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import partial
from typing import Any, Final, TypeVar

from trainer_infra import names
from trainer_infra.api import manifests
from trainer_infra.api.finding import Path
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.shape.object_meta import CLUSTER_SCOPED
from trainer_infra.api.shape.reading import has_unknown
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.rules import older_overrides, origin, rendering
from trainer_infra.rules.rendering import Rendering
from trainer_infra.rules.value import UNKNOWN, Origin, Root, UnseenValue, Value

T = TypeVar("T")


class Unread(Enum):
    """Stands for a runtime that was not read as yet."""

    UNREAD = auto()


UNREAD: Final = Unread.UNREAD


class AnyRuntime:
    """A runtime that TrainJobs refer to, as it was written.

    It may be given as it is rendered, too, or as None where nothing is to be rendered of it.
    """

    __slots__ = ("_typed", "wire")

    def __init__(self, wire: JSONObject, typed: Runtime | Unread | None = UNREAD) -> None:
        self.wire = wire
        self._typed = typed

    @property
    def typed(self) -> Runtime | None:
        """It as it is rendered, read when it is first asked for.

        None where something is wrong with it, which is its own finding where it is judged.
        """
        if isinstance(self._typed, Unread):
            try:
                parsed = manifests.stored_object(self.wire)
            except InvalidInput:
                parsed = None
            self._typed = None if isinstance(parsed, TrainJob) else parsed
        return self._typed


NOTHING: Final = Rendering()
"""What every kind but a TrainJob renders to."""
FITS: Final = Rendering(fits_schema=True)
"""The same of a runtime with nothing wrong."""


@dataclass(slots=True)
class _Kept:
    """What was made of a subject, to be used by the next rule."""

    kind: str | None = None
    made: Rendering | None = None
    rendered: tuple[Value, ...] = ()
    """The objects of that."""
    places: dict[Any, tuple[tuple[Any, ...], tuple[Path, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Subject:
    """An object that is judged, with all that is known of it."""

    object: Value
    """The object as it was written."""
    runtime: Value | None = None
    """The runtime that a TrainJob refers to; None where it is not found, and for other kinds."""
    runtime_is_judged: bool = False
    """Whether that is a subject too: rules say of it what is wrong with it."""
    runtime_is_shipped: bool = False
    """Whether it is one of the catalog that is installed elsewhere: nothing that is judged has it."""
    code: Value | None = None
    """What its pods get beside it, below the field `code`; None where it brings nothing, or none is known."""
    behaviour: Behaviour = OURS
    """What renders it."""
    render: Callable[["Subject"], Rendering] = lambda _: NOTHING
    """What makes `rendered`, `problems` and `unseen`, once a rule asks for one of them."""
    is_part: bool = False
    """Whether it is a patch: what it leaves out stands in the object that it changes."""
    _kept: _Kept = field(default_factory=_Kept, init=False, repr=False, compare=False)

    @property
    def rendered(self) -> tuple[Value, ...]:
        """What a TrainJob renders to, in apply order."""
        self._made()
        return self._kept.rendered

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why it renders to nothing."""
        return self._made().problems

    @property
    def unseen(self) -> tuple[Path, ...]:
        """Values that may change what it renders to and are not known."""
        return self._made().unseen

    @property
    def left_out(self) -> tuple[Path, ...]:
        """What of it is not in what it renders to, because something is wrong there or not at hand."""
        return self._made().left_out

    @property
    def is_whole(self) -> bool:
        """Whether all is known of what it renders to, but for values that are unknown themselves."""
        return rendering.REFERENCE not in self.left_out

    @property
    def fits_schema(self) -> bool:
        """Whether it was found before that nothing is wrong with it by its schema."""
        return self._made().fits_schema

    def _made(self) -> Rendering:
        kept = self._kept
        if kept.made is None:
            made = kept.made = self.render(self)
            kept.rendered = tuple(_object(self, each, made) for each in made.objects)
        return kept.made

    @property
    def kind(self) -> str:
        """The kind; empty where none is written."""
        kept = self._kept
        if kept.kind is None:
            kept.kind = _text(self.object["kind"])
        return kept.kind

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
        is_of_cluster = self.kind in CLUSTER_SCOPED
        return "" if is_of_cluster else _text(self.object.at("metadata", "namespace"))

    @property
    def ml_policy(self) -> Value:
        """The mlPolicy of the runtime that it is or runs on; absent for other kinds."""
        if self.kind == names.TRAIN_JOB and self.runtime is None:
            return Value(UNKNOWN, Root(written=_inherited, unseen=self.noted))
        runtime = self.runtime or self.object
        return runtime.at("spec", "mlPolicy")

    def rendered_of(self, kind: str) -> Iterator[Value]:
        """The objects of a kind that it renders to."""
        return (each for each in self.rendered if each["kind"].raw == kind)

    @property
    def noted(self) -> dict[Path, None]:
        """What was not known among what was read of it, since it was last emptied."""
        return self.object.root.unseen

    def places(
        self, find: Callable[["Subject"], Iterable[T]]
    ) -> tuple[tuple[T, ...], tuple[Path, ...]]:
        """What a function finds in it, found once for all rules; and what could not be seen."""
        kept = self._kept.places.get(find)
        if kept is None:
            noted = self.noted
            before = {**noted}
            noted.clear()
            found: list[Any] = []
            try:
                for each in find(self):
                    found.append(each)  # noqa: PERF402  what comes before an unknown one is kept
            except UnseenValue as error:
                # Without it the function cannot go on.
                noted[error.path] = None
            kept = self._kept.places[find] = (tuple(found), tuple(noted))
            if noted or before:
                noted.clear()
                noted.update(before)
        return kept

    def once(self, find: Callable[["Subject"], Iterable[T]]) -> tuple[T, ...]:
        """What a function finds in it, found once for all rules; what it could not see is noted."""
        found, unseen = self.places(find)
        if unseen:
            self.noted.update(dict.fromkeys(unseen))
        return found

    def forget(self) -> None:
        """Lets go of what was read to be read again by the next rule."""
        self._kept.places.clear()
        runtime = () if self.runtime is None else (self.runtime,)
        for each in (self.object, *self._kept.rendered, *runtime):
            each.forget()


def subject_of(
    value: JSONObject, runtime: AnyRuntime | None = None, behaviour: Behaviour = OURS
) -> Subject:
    """The object as it was written, in which unknown values may stand, with what it renders to.

    The runtime is what a TrainJob refers to; None where there is none.
    """
    subject = Subject(Value(value, Root()), behaviour=behaviour)
    if subject.kind != names.TRAIN_JOB:
        return subject
    if runtime is None:
        return replace(subject, render=partial(_render, None))
    seen = Value(runtime.wire, Root(written=_inherited, unseen=subject.noted))
    return replace(subject, runtime=seen, render=partial(_render, runtime))


def subject_of_part(value: JSONObject) -> Subject:
    """A patch of an object, which renders to nothing by itself."""
    return Subject(Value(value, Root()), is_part=True)


def with_rendered(subject: Subject, objects: Iterable[JSONObject]) -> Subject:
    """The subject with objects that it renders to."""
    made = Rendering(tuple(objects))
    return replace(subject, render=lambda _: made)


def subject_of_runtime(runtime: AnyRuntime) -> Subject:
    """A runtime as what is judged, which is read once for its own sake and its TrainJobs'."""
    return replace(subject_of(runtime.wire), render=partial(_judged_schema, runtime))


def _judged_schema(runtime: AnyRuntime, _subject: Subject) -> Rendering:
    is_known = not has_unknown(runtime.wire)
    return FITS if is_known and runtime.typed is not None else NOTHING


def _render(runtime: AnyRuntime | None, subject: Subject) -> Rendering:
    typed = None if runtime is None else runtime.typed
    return rendering.rendering_of(subject.object.raw, typed, subject.behaviour)


def _object(subject: Subject, value: JSONObject, made: Rendering) -> Value:
    called = value.get("metadata", {}).get("name")
    name = f"{value.get('kind')} {called if isinstance(called, str) else ''}".rstrip()
    if value.get("kind") != names.JOBSET:
        return Value(value, Root(name, _inherited, subject.noted))
    if rendering.REFERENCE in made.left_out:
        gaps: Iterable[Path] = ((),)
    else:
        gaps = origin.gaps(subject.object.raw, value, (*made.unseen, *made.left_out))
    where = partial(_in_train_job, subject.object.raw, value)
    return Value(value, Root(name, where, subject.noted, tuple(gaps)))


def _in_train_job(job: JSONObject, jobset: JSONObject, path: Path) -> Origin:
    found = origin.in_train_job(older_overrides.with_patches(job), jobset, path)
    return replace(found, path=older_overrides.written_path(job, found.path))


def _inherited(_path: Path) -> Origin:
    return origin.INHERITED


def _text(value: Value) -> str:
    return value.raw if isinstance(value.raw, str) else ""
