"""Inputs of a TrainJob resource -> everything that is known of it before anything is created.

Pure. `provider.check` calls `checked` at preview and at deployment; `provider.create` calls
`composed` again and so submits exactly what was shown. The names of the inputs are an API:
design "Names that are an API".
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from trainer_infra import catalog, names
from trainer_infra.api import manifests
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.deploy import backend, boundary, targets
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.render import listed
from trainer_infra.runs import identity
from trainer_infra.runs.run import Owner, owner_from_json
from trainer_infra.trainers import compose, kept_outputs
from trainer_infra.trainers.code import Code
from trainer_infra.trainers.compose import Composition

JSON = Mapping[str, Any]

OBSERVED: Final = frozenset({"uid", "host", "lastSeen", "digests"})
"""Outputs that are no inputs. Drift is not among them: a preview shows it as what the program does not
have, and the next `up` repairs."""
LONG_SECRET: Final = 8
"""From this many characters on, a secret is looked for in what is shown."""
OPTIONS: Final[tuple[tuple[str, str, Callable[[Any], bool], str], ...]] = (
    (
        "attempt",
        "attempt",
        lambda v: isinstance(v, int) and v >= 1,
        "must be a whole number from 1",
    ),
    ("adopt", "adopt", lambda v: isinstance(v, bool), "must be true or false"),
    (
        "deleteTimeout",
        "delete_timeout",
        lambda v: isinstance(v, int | float) and 0 <= v < math.inf,
        "must be a number of seconds from 0",
    ),
)
"""Options with their names in a program, what holds of each, and how that is said."""


def owned(inputs: JSON) -> dict[str, Any]:
    """The inputs with whose they are filled in: the program does not know its backend."""
    return {**inputs, "owner": backend.completed(inputs["owner"])}


def owner_of(properties: JSON) -> Owner:
    """Who declares, or declared, what a resource makes."""
    return owner_from_json(properties["owner"])


def options(inputs: JSON) -> Iterator[Problem]:
    """Problems of the resource's own options."""
    for key, name, holds, what in OPTIONS:
        value = inputs.get(key)
        if value is not None and not boundary.unknown(value) and not holds(value):
            yield Problem(name, what, got=value)
    if "outputs" in inputs and not boundary.unknown(inputs["outputs"]):
        is_local = inputs["target"] == targets.LOCAL
        root = targets.outputs_root(inputs)
        yield from kept_outputs.problems(inputs["outputs"], root, with_folders=is_local)


def named_once(problems: Iterable[Problem], inputs: JSON) -> tuple[Problem, ...]:
    """The problems without the name of the resource, which the engine says before each."""
    name = inputs.get("name") or inputs.get("resource")
    own = re.compile(rf"(TrainJob|runtime) {re.escape(str(name))}(-[0-9a-f]{{8}})?")
    return tuple(
        replace(each, where="") if own.fullmatch(each.where) else each for each in problems
    )


def runtime_of(inputs: JSON) -> Runtime:
    """The runtime: inline as it was given, otherwise the catalog's of the name in the spec.

    Raises:
        InvalidInput: It is in neither place, or is not a runtime.
    """
    given = inputs.get("runtime")
    if given is None:
        reference = (inputs.get("spec") or {}).get("runtimeRef") or {}
        return catalog.get(str(reference.get("name")))
    where = f"runtime {(given.get('metadata') or {}).get('name', '')}".strip()
    try:
        runtime = manifests.parse(given)
    except InvalidInput as error:
        raise InvalidInput(replace(problem, where=where) for problem in error.problems) from None
    if isinstance(runtime, TrainJob):
        raise InvalidInput([Problem("kind", "must be a runtime", got=runtime.kind, where=where)])
    return runtime


def job_name(inputs: JSON, runtime: Runtime) -> str:
    """The given name, else one by its identity."""
    if inputs.get("name"):
        return str(inputs["name"])
    return identity.run_name(str(inputs["resource"]), owner_of(inputs), content(inputs, runtime))


def born_with(inputs: JSON, olds: JSON) -> str:
    """A sentence when an unchanged job's runtime is another by now; else empty."""
    if runtime_of(inputs).to_wire() == olds["runtime"]:
        return ""
    name = olds["runtime"]["metadata"]["name"]
    return (
        f"{olds['name']} keeps the runtime it was born with, {name} has changed since; "
        "raise attempt to run it on the new one"
    )


def content(inputs: JSON, runtime: Runtime) -> str:
    """Eight hex digits of what makes the run what it is."""
    job = {"spec": inputs["spec"], "metadata": {"annotations": inputs.get("annotations")}}
    return identity.content(
        job,
        _code(inputs),
        runtime.to_wire(),
        attempt=inputs.get("attempt", 1),
        outputs=inputs.get("outputs"),
    )


def composed(inputs: JSON, name: str, runtime: Runtime) -> Composition:
    """Every object of the run, as its target writes it; its outputs have their places by now.

    Raises:
        InvalidInput: holds every problem of the TrainJob on this runtime.
    """
    metadata = {"name": name, "namespace": inputs["namespace"]}
    for key in ("labels", "annotations"):
        if inputs.get(key):
            metadata[key] = inputs[key]
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": metadata,
        "spec": inputs["spec"],
    }
    job = kept_outputs.attach(job, runtime.to_wire(), inputs.get("outputs") or {})
    code = _code(inputs)
    secrets = sorted(inputs.get("secretData") or {})
    plugins = listed.registry(inputs.get("plugins") or ())
    behaviour = targets.of(inputs).behaviour(plugins, owner_of(inputs))
    return compose.compose(job, runtime, code, secrets, behaviour)


def _outputs(inputs: JSON, name: str) -> Mapping[str, str]:
    """Where each output of a run is kept."""
    run = {"namespace": str(inputs["namespace"]), "run": name}
    given = inputs.get("outputs")
    # What is no mapping is a problem of the options, which are judged besides.
    given = given if isinstance(given, Mapping) else {}
    found = kept_outputs.addresses(given, targets.outputs_root(inputs), run)
    if inputs["target"] != targets.LOCAL:
        return found
    volumes = f"{targets.volumes_root()}/{inputs['namespace']}/"
    return {
        key: each.replace(kept_outputs.CLAIM, volumes)
        if each.startswith(kept_outputs.CLAIM)
        else each
        for key, each in found.items()
    }


def _same_outputs(inputs: JSON, olds: JSON) -> bool:
    """Whether a run has the outputs that are given; a place that is not given is free."""
    given, kept = inputs.get("outputs") or {}, olds.get("outputs") or {}
    if not isinstance(given, Mapping):
        return False
    named = {key: each for key, each in given.items() if each}
    now = _outputs({**inputs, "outputs": named}, str(olds["name"]))
    return given.keys() == kept.keys() and all(kept[key] == now[key] for key in now)


@dataclass(frozen=True, slots=True)
class Checked:
    """What is known of a TrainJob before deployment."""

    inputs: dict[str, Any]
    """The inputs with name, runtime and rendering filled in."""
    warnings: tuple[str, ...]
    """What is worth knowing of a new run although nothing is wrong."""


def checked(inputs: JSON, olds: JSON) -> Checked:
    """Everything that can be known before deployment.

    When what makes the run what it is did not change since `olds`, the job keeps the name, the
    runtime and the rendering it was born with: a new release or an edited runtime retrains nothing
    and changes nothing (design rule 2).

    Raises:
        InvalidInput: holds every problem that can be known before deployment.
    """
    same = unchanged(inputs, olds)
    if same:
        name, runtime = str(olds["name"]), runtime_of(olds)
        inputs = {**inputs, **{key: olds.get(key) for key in ("code", "plugins", "outputs")}}
    else:
        runtime = runtime_of(inputs)
        name = job_name(inputs, runtime)
    if inputs.get("outputs"):
        inputs = {**inputs, "outputs": _outputs(inputs, name)}
    run = composed(inputs, name, runtime)
    shown = by_role(run.objects, name)
    leaks = tuple(leaked(inputs, shown))
    packages = (inputs.get("code") or {}).get("packages") or ()
    impossible = targets.of(inputs).problems(run.job.to_wire(), run.objects, packages)
    if leaks or impossible:
        raise InvalidInput((*leaks, *impossible))
    if same and _shown_alike(inputs, olds):
        shown = olds["rendered"]
    filled = {**inputs, "name": name, "runtime": runtime.to_wire(), "rendered": shown}
    plain = {key: value for key, value in filled.items() if value is not None}
    return Checked(plain, () if same else run.warnings)


def _shown_alike(inputs: JSON, olds: JSON) -> bool:
    """Whether what may change in place leaves the rendering of an unchanged run as it is."""
    keys = ("labels", "annotations")
    secrets = [sorted(each.get("secretData") or {}) for each in (inputs, olds)]
    suspends = [bool(each["spec"].get("suspend")) for each in (inputs, olds)]
    return (
        all(inputs.get(key) == olds.get(key) for key in keys)
        and replace(owner_of(inputs), backend="") == replace(owner_of(olds), backend="")
        and secrets[0] == secrets[1]
        and suspends[0] == suspends[1]
        and "rendered" in olds
    )


IDENTITY: Final = ("attempt", "namespace", "target", "engine")
"""Inputs that, with spec and code, make a run what it is."""


def unchanged(inputs: JSON, olds: JSON) -> bool:
    """Whether both say the same run."""
    return _same_but_for_runtime(inputs, olds) and _same_runtime(inputs, olds)


def is_of_another_runtime(inputs: JSON, olds: JSON) -> bool:
    """Whether nothing makes another run of it but the runtime that stands in the program."""
    return _same_but_for_runtime(inputs, olds) and not _same_runtime(inputs, olds)


def _same_but_for_runtime(inputs: JSON, olds: JSON) -> bool:
    if not olds.get("name") or not olds.get("runtime"):
        return False
    ours, theirs = inputs["spec"], olds.get("spec") or {}
    if identity.identity_of_spec(ours) != identity.identity_of_spec(theirs):
        return False
    if inputs.get("name") not in (None, olds["name"]):
        return False
    if (_users(inputs), settings_of(inputs)) != (_users(olds), settings_of(olds)):
        return False
    if not _same_outputs(inputs, olds):
        return False
    return all(inputs.get(key) == olds.get(key) for key in IDENTITY)


def _same_runtime(inputs: JSON, olds: JSON) -> bool:
    """Whether a runtime that stands in the program is the one that the job was born with.

    One of the catalog, or of a resource, changes without the job: then the job keeps its own.
    """
    if inputs.get("runtime") is None or inputs.get("runtimeResource"):
        return True
    now, born = runtime_of(inputs), runtime_of(olds)
    if now == born or now.metadata.name != born.metadata.name:
        return now == born
    return any(
        each.name == now.metadata.name and each.runtime() == now for each in catalog.RUNTIMES
    )


def settings_of(inputs: JSON) -> JSON:
    """The annotations of the job that change what is rendered."""
    return identity.job_settings(inputs.get("annotations") or {})


def _code(inputs: JSON) -> Code | None:
    return Code.from_wire(inputs["code"]) if inputs.get("code") else None


def _users(inputs: JSON) -> JSON | None:
    """The user's part of the code: our launcher changes with a release, which retrains nothing."""
    code = _code(inputs)
    return code.of_the_user() if code else None


def by_role(objects: Iterable[JSON], job: str) -> dict[str, JSON]:
    """The objects by the role they have for the job, so that a diff compares like with like."""
    return {_role(each, job): each for each in objects}


def _role(item: JSON, prefix: str) -> str:
    rest = str(item["metadata"]["name"]).removeprefix(prefix).lstrip("-")
    suffix = re.sub(r"-[0-9a-f]{8}$", "", rest)
    return f"{item['kind']}-{suffix}" if suffix else str(item["kind"])


def leaked(inputs: JSON, shown: JSON) -> Iterator[Problem]:
    """Places where a secret's value stands in plain text.

    Only those of `LONG_SECRET` characters and more are looked for: a shorter one may well be a word
    that stands there for another reason.
    """
    secrets = [
        (key, text)
        for key, value in (inputs.get("secretData") or {}).items()
        for text in _texts(value)
        if len(text) >= LONG_SECRET
    ]
    if not secrets:
        return
    written = {key: inputs.get(key) for key in ("spec", "labels", "annotations", "code")}
    for place in (written, {"rendered": shown}):
        found = [
            Problem(
                path,
                f"holds the value of secret {key!r} in plain text",
                fix="pass it in env or func_args as Secret(...), and nowhere else",
            )
            for path, text in _strings(place, "")
            for key, secret in secrets
            if secret in text
        ]
        yield from found
        if found:
            return


def _texts(value: Any) -> Iterable[str]:
    """The texts in a secret: several where it is JSON, as func_args are."""
    try:
        decoded = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        decoded = value
    found = [text for _, text in _strings(decoded, "")]
    return found or [str(value)]


def _strings(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value with its path, keys included."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _strings(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _strings(each, f"{path}[{index}]")
    elif isinstance(value, str):
        yield path, value
