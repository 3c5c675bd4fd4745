"""What every constructor of a resource of ours works out before it registers the resource.

Secrets split off and code packed, now or once Outputs are known; the runtime as inputs have it; who
declares it, and under which URN. `where` is the resource, as an error names it: `TrainJob digits`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import Any, Final, cast

import pulumi
from pulumi.dynamic import Resource

from trainer_infra import names
from trainer_infra.api.checkpoint import Checkpoint
from trainer_infra.api.finding import path_text
from trainer_infra.deploy import outputs, secret_door, secret_transform
from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.program_value import DeclaredObjects, ProgramValue
from trainer_infra.deploy.resource_type import TrainerResource
from trainer_infra.deploy.train_job_arguments import Arguments, TrainJobArgs, to_inputs
from trainer_infra.errors import InvalidInput, Problem, TrainerInfraError, independent
from trainer_infra.json_values import JSONObject, JSONPath, json_leaves
from trainer_infra.trainers import checkpoints
from trainer_infra.trainers.argument_names import advice
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.custom import stored_code
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.kubeflow_sdk.train_job_arguments import own_arguments
from trainer_infra.trainers.pods import env_and_args
from trainer_infra.trainers.trainer import is_trainer

PARTS: Final = ("runtime", "spec", "code", "labels", "annotations", "secretData")
"""Inputs that are made of what the user wrote of a job."""

_PLAIN: Final = (
    "target", "engine", "plugins", "namespace", "outputs", "packages", "code", "codeSecret", "codeImage",
)  # fmt: skip
"""Keys of `trainer:` in the stack's configuration that become plain fields of a run."""
_DECLARED: Final = ProgramValue(DeclaredObjects)
"""On the stack's target, which all TrainJobs and runtimes of a program have in common."""


def refuse_unknown_arguments(
    args: Mapping[str, Any], known: type, where: str, also: Collection[str] = ()
) -> None:
    """Refuse a name that is not one of a TypedDict's, and none of the resource's other arguments."""
    names_known = (*known.__annotations__, *also)
    if unknown := [key for key in args if key not in names_known]:
        raise pulumi.RunError(
            f"{where}: {unknown[0]!r} is not an argument; {advice(unknown[0], names_known)}"
        )


def job_arguments(
    args: Mapping[str, Any], where: str, wait_for: str | None, also: Collection[str] = ()
) -> TrainJobArgs:
    """The arguments of a TrainJob as the user gives them, with our types in place of the kubeflow SDK's.

    What no check could say better ends the program here: a name of no argument, nor in `also`; no runtime at all.
    """
    refuse_unknown_arguments(args, TrainJobArgs, where, also)
    try:
        own = with_kept_checkpoints(own_arguments(args))
    except InvalidInput as error:
        _refuse(error.problems, where)
        raise
    if "runtime" not in own:
        raise pulumi.RunError(f"{where}: runtime is missing; name one of the catalog's")
    if own.get("suspend") is True and wait_for is not None:
        raise pulumi.RunError(
            f"{where}: wait_for={wait_for!r} would wait forever for a job that is suspended; "
            "leave one of the two out"
        )
    return cast(TrainJobArgs, own)


def run_inputs(args: TrainJobArgs, where: str) -> dict[str, Any]:
    """Inputs of one run, of what `job_arguments` gives: `secretData` among them, without those that are None."""
    inputs = {
        "name": args.get("name"),
        "namespace": args.get("namespace", default_namespace()),
        "attempt": args.get("attempt", 1),
        "adopt": args.get("adopt", False),
        "deleteTimeout": args.get("delete_timeout", 60),
        "runtimeResource": isinstance(args["runtime"], TrainerResource) or None,
        "outputs": kept_outputs(args.get("outputs")),
    }
    given: dict[str, Any] = {each.name: args.get(each.name) for each in fields(Arguments)}
    given["trainer"] = with_code_store(given["trainer"])
    if hasattr(type(args["runtime"]), "to_wire"):
        # Of a resource that is an Output.
        given["runtime"] = given["runtime"].to_wire()
    job = Arguments(**given)
    made = closed_inputs(inputs, where) | job_inputs(job, where)
    # Each input is an Output of the program as well, and costs as much where it is None.
    return {key: each for key, each in made.items() if each is not None}


def job_inputs(job: Arguments, where: str) -> dict[str, Any]:
    """Runtime, spec, code and secretData: now where everything is known, else when its Outputs are."""
    whole = outputs.plain_inputs(job.as_mapping())

    def judge(plain: Mapping[str, Any]) -> None:
        _refuse(secret_door.misplaced_arguments(plain), where)

    def made(plain: Mapping[str, Any]) -> dict[str, Any]:
        try:
            found = to_inputs(job.with_values(plain))
        except InvalidInput as error:
            _refuse(error.problems, where)
            raise
        except TrainerInfraError as error:
            raise pulumi.RunError(f"{where}: {error}") from None
        if pulumi.Config("trainer").get("target") == targets.LOCAL:
            _fetch_folders(found["spec"])
        _refuse(independent(uncarried_values(found)), where)
        return found

    if not outputs.has_output(whole):
        judge(whole)
        parts = made(whole)
        secret = parts["secretData"]
        return {**parts, "secretData": pulumi.Output.secret(secret) if secret else None}
    later = outputs.open_outputs(whole, judge, made, PARTS)
    return {**later, "secretData": pulumi.Output.secret(later["secretData"])}


def _fetch_folders(spec: dict[str, Any]) -> None:
    """Let initializers fetch folders of this machine by their paths, as outputs of its runs are given."""
    for each in (spec.get("initializer") or {}).values():
        uri = each.get("storageUri") if isinstance(each, dict) else None
        if isinstance(uri, str) and uri.startswith("/"):
            each["storageUri"] = Path(uri).as_uri()


def closed_inputs(inputs: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A resource's inputs but for `PARTS`: none can be secret, or a text that cannot be encoded."""

    def judge(plain: Mapping[str, Any]) -> None:
        _refuse(secret_door.misplaced_secrets(plain, ""), where)
        _refuse(uncarried_values(plain), where)

    own = {key: value for key, value in inputs.items() if key not in {"owner", "urn"}}
    given = as_python(outputs.plain_inputs(own))
    later = {key: value for key, value in given.items() if outputs.has_output(value)}
    judge({key: value for key, value in given.items() if key not in later})
    for key, value in later.items():
        given |= outputs.open_outputs({key: value}, judge, dict, (key,))
    return {**inputs, **given}


def claim_objects(
    kind: str, inputs: Iterable[Mapping[str, Any]], claimant: Resource, where: str
) -> None:
    """Refuse TrainJobs or runtimes, by the inputs of each, that another resource of the program declares.

    A name or namespace that only `up` knows is for the provider to judge.
    """
    places = ((each.get("namespace") or "", each.get("name")) for each in inputs)
    known = [each for each in places if all(isinstance(part, str) for part in each)]
    keys = (f"{names.GROUP}:{'/'.join(filter(None, (kind, *each)))}" for each in known)
    try:
        _DECLARED.of().claim(keys, claimant, where)
    except InvalidInput as error:
        _refuse(error.problems, where)


def refuse_no_event(wait_for: object, where: str) -> None:
    """Refuse what is not an event by its type: a gate is there or not when the program is written."""
    if wait_for is not None and not isinstance(wait_for, str):
        what, fix = "is not an event to wait for", 'write "running" or "complete"'
        shown = type(wait_for).__name__
        _refuse([Problem("wait_for", what, got=shown, fix=fix)], where)


def _refuse(problems: Iterable[Problem], where: str) -> None:
    """End the program with the problems of a resource, as sentences without a traceback."""
    places = ((each, f"{where}: {each.where}" if each.where else where) for each in problems)
    if found := [replace(each, where=place) for each, place in places]:
        raise outputs.InputRefusal(found)


def stack_settings() -> dict[str, Any]:
    """What the stack's configuration says of every resource of ours.

    A target has no default, so that no program trains on a machine by accident; its engine has one.
    """
    secret = (key for key in _PLAIN if pulumi.runtime.is_config_secret(f"trainer:{key}"))
    _refuse(
        (secret_door.misplaced_secret(f"trainer:{key}") for key in secret), "stack configuration"
    )
    config = pulumi.Config("trainer")
    found: dict[str, Any] = {key: config.get(key) for key in ("target", "engine")}
    found["plugins"] = config.get_object("plugins")
    if found["target"] == targets.KUBERNETES:
        found["engine"] = found["engine"] or targets.PROVIDER
    return found


def kept_outputs(given: Any) -> Any:
    """Names of outputs as a mapping to where each is kept, empty where that is not said.

    What is neither a list of names nor a mapping stays as it is, for the check to judge.
    """
    given = outputs.plain_inputs(given)
    if isinstance(given, pulumi.Output):
        return given.apply(kept_outputs)
    if isinstance(given, Mapping):
        # The engine leaves out what is None.
        return {name: "" if address is None else address for name, address in given.items()}
    if not isinstance(given, list | tuple):
        return given
    if outputs.has_output(given):
        return pulumi.Output.all(*given).apply(kept_outputs)
    return dict.fromkeys(given, "") if all(isinstance(each, str) for each in given) else given


def with_kept_checkpoints(args: dict[str, Any]) -> dict[str, Any]:
    """The arguments in which the place of the checkpoints is one of the outputs.

    Raises:
        InvalidInput: An output that is kept elsewhere has its name.
    """
    checkpoint = args.get("checkpoint")
    if not isinstance(checkpoint, Checkpoint):
        return args
    added = checkpoints.outputs_of(checkpoint.uri, checkpoint.resume)

    def both(given: Any) -> Any:
        if given is None:
            return added or None
        if not isinstance(given, Mapping):
            return given
        for name, address in added.items():
            if address and name in given:
                what = "is an output that checkpoint= adds"
                fix = f'write uri="output://{name}" in the Checkpoint, or name the output otherwise'
                raise InvalidInput([Problem(f"outputs[{name!r}]", what, fix=fix)])
        return {**added, **given}

    given = kept_outputs(args.get("outputs"))
    return {
        **args,
        "outputs": given.apply(both) if isinstance(given, pulumi.Output) else both(given),
    }


def default_namespace() -> str:
    """Namespace of what names none: the stack's, else `default`."""
    return names.namespace_of(pulumi.Config("trainer").get("namespace"))


def outputs_root() -> str | None:
    """Where the stack keeps outputs that have no place of their own."""
    return pulumi.Config("trainer").get("outputs")


def packages_cache(jobs: Iterable[TrainJobArgs]) -> str | None:
    """Where the stack keeps packages that pods install; None where no trainer has any."""
    trainers = [each for each in (job.get("trainer") for job in jobs) if is_trainer(each)]
    keys = ("packages", "packages_to_install")
    has_some = any(getattr(each, key, None) is not None for each in trainers for key in keys)
    return pulumi.Config("trainer").get("packages") if has_some else None


def with_code_store(trainer: Any) -> Any:
    """A trainer that knows where its stack keeps code which no ConfigMap holds.

    On the local target that is the cache folder, in which a preview has it already.
    """
    config = pulumi.Config("trainer")
    if not isinstance(trainer, CustomTrainer):
        return trainer
    at = trainer.code_at if trainer.code_at is not None else config.get("code")
    if at is None:
        return trainer
    if config.get("target") == targets.LOCAL:
        return replace(trainer, code_at=stored_code.kept_folder().as_uri(), code_secret=None)
    secret, image = (
        own if own is not None else config.get(key)
        for own, key in ((trainer.code_secret, "codeSecret"), (trainer.code_image, "codeImage"))
    )
    return replace(trainer, code_at=at, code_secret=secret, code_image=image)


def gate_inputs(gate: Resource, name: str, job: Any, until: str, opts: Any) -> dict[str, Any]:
    """What a gate of that name and options says of the TrainJob or TrainJobs that it waits for."""
    settings = {key: each for key, each in stack_settings().items() if key != "plugins"}
    urn = resource_urn(type(gate), name, opts)
    return {**settings, "host": job.host, "owner": job.owner, "until": until, "urn": urn}


def owner_inputs(
    kind: type[Resource], name: str, opts: pulumi.ResourceOptions | None
) -> dict[str, Any]:
    """Who declares what a resource makes: labels of each object of it; the provider finds out the `backend`."""
    return {
        "organization": pulumi.get_organization(),
        "project": pulumi.get_project(),
        "stack": pulumi.get_stack(),
        "urn": resource_urn(kind, name, opts),
    }


def resource_urn(
    kind: type[Resource], name: str, opts: pulumi.ResourceOptions | None
) -> pulumi.Output[str]:
    """The URN that the resource will have, which messages to the engine name.

    Raises:
        pulumi.RunError: The resource is to be imported.
    """
    if opts is not None and opts.import_ is not None:
        raise pulumi.RunError(f"{kind.__name__} {name}: {names.NOT_IMPORTED}")
    parent = opts.parent if opts else None
    made = pulumi.resource.create_urn(name, f"pulumi-python:{kind._resource_type_name}", parent)  # noqa: SLF001  Pulumi keeps it there
    return secret_transform.after_transforms(made, opts)


def uncarried_values(inputs: JSONObject) -> Iterator[Problem]:
    """A problem for each value and key that the engine's protocol cannot carry, or Linux to a program.

    What the protocol says of one ends in a traceback. YAML gives dates, a sweep numbers as keys, and
    bytes that are no UTF-8 give texts that no encoding has.
    """
    for path, value in json_leaves(inputs):
        yield from _uncarried(path, value)
        if isinstance(value, str) and _reaches_a_program(path):
            yield from env_and_args.text_problems(path_text(path), value)
    for path, key in _keys(inputs, ()):
        if isinstance(key, str):
            yield from _uncarried((*path, key), key)
        else:
            yield Problem(path_text(path), "must have texts as keys", key, f'write "{key}"')


def _uncarried(path: JSONPath, value: Any) -> Iterator[Problem]:
    if isinstance(value, str):
        if not any("\ud800" <= each <= "\udfff" for each in value):
            return
        what = "cannot be encoded, it has half of a surrogate pair in it"
        fix = "decode bytes with their own encoding, without surrogateescape"
    elif isinstance(value, int | float | None):
        return
    else:
        kind = type(value).__name__
        what = f"must be text, a number, true or false, a list or a mapping, not {kind}"
        fix = f'quote it: "{value}"' if isinstance(value, date) else ""
    visible = path_text(path).encode("utf-8", "backslashreplace").decode()
    yield Problem(visible, what, None if path[0] == "secretData" else value, fix)


def _reaches_a_program(path: JSONPath) -> bool:
    """Whether a text is a word of a command or the value of a variable, of whichever container."""
    *_, before, last = ("", "", *path)
    is_word = isinstance(last, int) and before in {"command", "args"}
    return is_word or (last == "value" and "env" in path[-3:-2])


def _keys(value: Any, path: JSONPath) -> Iterator[tuple[JSONPath, Any]]:
    """Every key, with the path of its mapping."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield path, key
            yield from _keys(each, (*path, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _keys(each, (*path, index))
