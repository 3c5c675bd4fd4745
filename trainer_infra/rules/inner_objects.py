"""What stands inside an object: other objects, pods, and parameters that something fills in later.

Wrappers of jobs, templates and policies have whole objects in them. Of a kind that no rule knows, a pod is told by
what only pods have.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONObject
from trainer_infra.rules.value import UNKNOWN, is_list, is_mapping

CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
"""Fields of a pod with its containers."""
_CONTAINERS: Final = frozenset(
    (*CONTAINERS, "sidecars", "steps", "container", "script", "mainContainer", "model")
)
"""Fields that other kinds have for them, too: Argo Workflows, Tekton, Dynamo, KServe. Some have one container alone."""
_RIGHTS: Final = frozenset((
    "privileged", "capabilities", "allowPrivilegeEscalation", "procMount", "readOnlyRootFilesystem",
))  # fmt: skip
"""Fields of a securityContext that only a container has."""
_OF_CONTAINER: Final = ("image", "command", "args", "env", "securityContext")
_OF_NODE: Final = ("hostNetwork", "hostPID", "hostIPC")
_APART: Final = frozenset(("apiVersion", "kind", "metadata", "status"))
"""Fields of an object in which nothing is that is made of it; annotations have copies and examples."""
_CLOSED: Final = frozenset(("CustomResourceDefinition", "Secret", "ControllerRevision"))
"""Kinds that have a schema, something encoded or a copy in them."""
_PATTERNS: Final = frozenset(("match", "exclude", "validate", "preconditions", "celPreconditions"))
"""Fields of Kyverno's policies with what others must be."""
_PARTIAL: Final = frozenset((
    "patches", "patch", "patchesStrategicMerge", "patchStrategicMerge", "base", "objectDefinition",
))  # fmt: skip
"""Fields with a part of an object: a patch, what a Crossplane Composition fills in, what ACM finds there."""
_SHELL: Final = frozenset(("command", "args", "script", "source"))
"""Fields in which `${X}` and `{{x}}` may be a program's own."""
# Texts, and not compiled at the start: few checks need them.
_REFERENCE: Final = r"(?s)\{\{.*?\}\}|\$\{[^{}]*\}"
_BRACES: Final = r"(?s)\{\{.*?\}\}"
_TEKTON: Final = r"\$\((?:params|tasks|workspaces|context|results|inputs|tt)\b[^()]*\)"
_OPENSHIFT: Final = r"\$\{\{(\w+)\}\}|\$\{(\w+)\}"
_ARGO: Final = ("Workflow", "WorkflowTemplate", "CronWorkflow", "Sensor")
_PARAMETERS: Final[Mapping[str, str]] = {
    "Experiment": r"\$\{trial(?:Parameters|Spec)\b[^{}]*\}",
    "ResourceGraphDefinition": r"\$\{[^{}]*\}",
    **dict.fromkeys((*_ARGO, "ClusterWorkflowTemplate", "ApplicationSet"), _BRACES),
    **dict.fromkeys(("Policy", "ClusterPolicy", "ConfigurationPolicy"), _BRACES),
    **dict.fromkeys(("Task", "TaskRun", "Pipeline", "PipelineRun", "TriggerTemplate"), _TEKTON),
}
"""By kind of the object around, what it fills in wherever it stands."""
_OWN_NAMESPACE: Final = frozenset(("AppWrapper", "Experiment", "Trial", *_ARGO))
"""Kinds whose controller makes what stands in them in their own namespace where it names none."""
Known = Callable[[str, bool], Any]
"""A text, and whether a program reads it -> what it is once it is filled in."""


def parts_of(whole: JSONObject) -> Iterator[tuple[Path, Any]]:
    """Every mapping and text of an object with its path, itself first; nothing below an object in it."""
    if whole.get("kind") in _CLOSED:
        return
    yield (), whole
    is_policy = "kyverno.io" in str(whole.get("apiVersion"))
    waiting: list[tuple[Path, Any]] = [
        ((key,), whole[key]) for key in reversed([*whole]) if key not in _APART
    ]
    while waiting:
        path, each = waiting.pop()
        if isinstance(each, str):
            yield path, each
        elif is_list(each):
            waiting += [((*path, index), each[index]) for index in reversed(range(len(each)))]
        elif is_mapping(each):
            yield path, each
            # What must not be there is not there.
            is_forbidden = str(each.get("complianceType")).lower().startswith("mustnot")
            if not is_forbidden and object_in(each) is None:
                keys = [key for key in each if isinstance(key, str)]
                own = (key for key in reversed(keys) if not (is_policy and key in _PATTERNS))
                waiting += [((*path, key), each[key]) for key in own]


def object_in(value: JSONObject) -> tuple[Path, JSONObject] | None:
    """The object that a mapping is, and where in it that stands; None for another, such as a reference.

    A rule of Kyverno that generates an object has the fields of its metadata beside `data`, which has all else.
    """
    version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return None
    if any(is_mapping(value.get(key)) for key in ("metadata", "spec", "stringData")):
        return (), value
    content: Any = value.get("data")
    if is_mapping(content) and "name" in value:
        named = {key: value[key] for key in ("name", "namespace") if key in value}
        own = content.get("metadata")
        metadata = {**(own if is_mapping(own) else {}), **named}
        return ("data",), {**content, "apiVersion": version, "kind": kind, "metadata": metadata}
    is_list_of = kind.endswith("List") and is_list(value.get("items"))
    return ((), value) if is_mapping(content) or is_list_of else None


def is_partial(path: Path) -> bool:
    """Whether what stands at a path of an object is only a part of one: something else has the rest."""
    return not _PARTIAL.isdisjoint(path)


def pods_in(whole: JSONObject) -> Iterator[Path]:
    """Where in an object of any kind something has the fields of a pod."""
    for path, each in parts_of(whole):
        if is_mapping(each) and _is_pod(each) and (not path or object_in(each) is None):
            yield path


def _is_pod(value: JSONObject) -> bool:
    volumes: Any = value.get("volumes")
    return (
        any(value.get(key) is True for key in _OF_NODE)
        or any(container_fields(value))
        or (is_list(volumes) and any(is_mapping(each) and "hostPath" in each for each in volumes))
    )


def container_fields(pod: JSONObject) -> Iterator[str]:
    """The fields of what may be a pod that have containers, or a container that says what it may do."""
    for key, inside in pod.items():
        if key in _CONTAINERS:
            is_one = any(map(_is_container, inside if is_list(inside) else (inside,)))
        else:
            context: Any = inside.get("securityContext") if is_mapping(inside) else None
            is_one = is_mapping(context) and not _RIGHTS.isdisjoint(context)
        if is_one:
            yield key


def _is_container(value: Any) -> bool:
    return is_mapping(value) and any(key in value for key in _OF_CONTAINER)


def in_its_place(value: JSONObject, around: JSONObject, *, is_part: bool) -> JSONObject:
    """An object with what the one around it fills in, and with what it says of it: its namespace, and a name."""
    value = filled_in(value, around)
    if is_part or "kind" not in value:
        return value
    own: Any = value.get("metadata")
    outer: Any = around.get("metadata")
    given: dict[str, Any] = dict(own) if is_mapping(own) else {}
    if "generateName" not in given:
        given.setdefault("name", UNKNOWN)
    namespace = outer.get("namespace") if is_mapping(outer) else None
    if around.get("kind") in _OWN_NAMESPACE and namespace is not None:
        given.setdefault("namespace", namespace)
    return value if given == own else {**value, "metadata": given}


def filled_in(value: Any, around: JSONObject) -> Any:
    """The value as it stands in an object, with what that fills in: a default, or unknown where it has none.

    It is the very value where nothing is filled in.
    """
    found = with_texts(value, _known(around))
    return value if found == value else found


def with_texts(value: Any, known: Known, *, is_program: bool = False) -> Any:
    """A copy with other texts."""
    if isinstance(value, str):
        return known(value, is_program)
    if is_mapping(value):
        return {
            key: with_texts(each, known, is_program=is_program or key in _SHELL)
            for key, each in value.items()
        }
    if is_list(value):
        return [with_texts(each, known, is_program=is_program) for each in value]
    return value


def _known(around: JSONObject) -> Known:
    pattern = _PARAMETERS.get(str(around.get("kind")))
    defaults = _defaults(around) if around.get("kind") == "Template" else None

    def known(text: str, is_program: bool) -> Any:
        if "{" not in text and "$(" not in text:
            return text
        if defaults is not None:
            return _with_defaults(text, defaults)
        is_filled = pattern is not None and re.search(pattern, text)
        return UNKNOWN if is_filled or (not is_program and re.search(_REFERENCE, text)) else text

    return known


def _defaults(template: JSONObject) -> dict[str, Any]:
    """The parameters of an OpenShift Template with their values; unknown where they have none."""
    listed: Any = template.get("parameters")
    found = (each for each in (listed if is_list(listed) else ()) if is_mapping(each))
    return {str(each.get("name")): each.get("value", UNKNOWN) for each in found}


def _with_defaults(text: str, defaults: Mapping[str, Any]) -> Any:
    """The text with the values of parameters; those in double braces are JSON. Source: OpenShift's `template` package."""
    named = [each[1] or each[2] for each in re.finditer(_OPENSHIFT, text)]
    if any(defaults.get(each) is UNKNOWN for each in named):
        return UNKNOWN
    whole = re.fullmatch(_OPENSHIFT, text)
    if whole and whole[1] in defaults:
        with contextlib.suppress(TypeError, ValueError):
            return json.loads(defaults[whole[1]])
        return defaults[whole[1]]
    return re.sub(_OPENSHIFT, lambda each: str(defaults.get(each[1] or each[2], each[0])), text)
