"""The schema of an object's metadata, which a CRD leaves to the API server.

schema.py puts it in place of `metadata` in every kind. The limits are those that the API server
checks: k8s.io/apimachinery `ValidateObjectMeta`, DNS-1123 names, label keys and values. A
TrainJob's name has a stricter rule of its own in the published schema.
"""

from typing import Any, Final

from trainer_infra import names

LABEL_PATTERN: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
"""A DNS label."""
SUBDOMAIN_PATTERN: Final = rf"{LABEL_PATTERN}(\.{LABEL_PATTERN})*"
"""A DNS subdomain."""
_SUBDOMAIN_ANY_CASE: Final = SUBDOMAIN_PATTERN.replace("a-z", "A-Za-z")
VALUE_PATTERN: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
"""The value of a label, and the last part of its key."""
_QUALIFIED: Final = VALUE_PATTERN.replace("*", "{0,61}")
_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
_NUMBER: Final = {"type": "integer", "format": "int64"}


def _named(pattern: str, length: int) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{pattern}$", "maxLength": length}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _object(required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties}


OWNER_REFERENCE: Final = _object(
    ("apiVersion", "kind", "name", "uid"),
    apiVersion=_TEXT,
    kind=_TEXT,
    name=_TEXT,
    uid=_TEXT,
    controller={"type": "boolean"},
    blockOwnerDeletion={"type": "boolean"},
)
"""What owns an object."""

MANAGED_FIELDS: Final = _object(
    (),
    manager=_TEXT,
    operation=_TEXT,
    apiVersion=_TEXT,
    time=_TIME,
    fieldsType=_TEXT,
    fieldsV1={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    subresource=_TEXT,
)
"""Which manager set which field."""

_NAME: Final = _named(SUBDOMAIN_PATTERN, 253)
_PREFIX: Final = _named("[a-z0-9][-a-z0-9.]*", 253)
_NAMESPACE: Final = _named(LABEL_PATTERN, 63)
LABEL_VALUE: Final = _named(f"({VALUE_PATTERN})?", 63)
"""The value of a label."""
LABEL_KEY: Final = _named(f"({SUBDOMAIN_PATTERN}/)?{_QUALIFIED}", 317)
"""The key of a label, and whatever Kubernetes calls a qualified name."""
LABEL_KEY_OR_EMPTY: Final = _named(f"(({SUBDOMAIN_PATTERN}/)?{_QUALIFIED})?", 317)
"""The same where nothing means any."""
LABELS: Final = {"type": "object", "propertyNames": LABEL_KEY, "additionalProperties": LABEL_VALUE}
"""Labels, by key."""
_ANNOTATION_KEY: Final = _named(f"({_SUBDOMAIN_ANY_CASE}/)?{_QUALIFIED}", 317)

OBJECT_META: Final = _object(
    (),
    name=_NAME,
    generateName=_PREFIX,
    namespace=_NAMESPACE,
    labels=LABELS,
    annotations={"type": "object", "propertyNames": _ANNOTATION_KEY, "additionalProperties": _TEXT},
    finalizers=_list(_TEXT),
    ownerReferences=_list(OWNER_REFERENCE),
    managedFields=_list(MANAGED_FIELDS),
    uid=_TEXT,
    resourceVersion=_TEXT,
    generation=_NUMBER,
    creationTimestamp=_TIME,
    deletionTimestamp=_TIME,
    deletionGracePeriodSeconds=_NUMBER,
    selfLink=_TEXT,
) | {
    "x-kubernetes-validations": [
        {"rule": "has(self.name) || has(self.generateName)", "message": "a name is required"}
    ]
}
"""metadata of every kind; `propertyNames` is JSON Schema's, which published schemas do not use."""

CLUSTER_SCOPED: Final = frozenset(
    (
        *{*names.KUEUE_KINDS} - {names.LOCAL_QUEUE, names.WORKLOAD},
        *(names.CLUSTER_TRAINING_RUNTIME, names.VOLCANO_QUEUE, names.NAMESPACE),
        *(names.PRIORITY_CLASS, "PersistentVolume", "StorageClass", "RuntimeClass", "DeviceClass"),
        *("ClusterRole", "ClusterRoleBinding"),
    )
)
"""Kinds without a namespace. What kustomize writes there into a kind that it does not know says nothing."""

TRAIN_JOB_META: Final = OBJECT_META | {"properties": OBJECT_META["properties"] | {"name": _TEXT}}
"""metadata of a TrainJob, whose name has rules of its own in the published schema."""

_KEY_WORDS: Final = "must be a key such as stage or example.com/stage"

PATTERNS: Final = {
    _NAME["pattern"]: "must be lower-case letters, digits, - and ., and begin and end with "
    "a letter or digit",
    _PREFIX["pattern"]: "must be lower-case letters, digits, - and ., and begin with "
    "a letter or digit",
    _NAMESPACE["pattern"]: "must be lower-case letters, digits and -, and begin and end with "
    "a letter or digit",
    LABEL_VALUE["pattern"]: "must be letters, digits, -, _ and ., and begin and end with "
    "a letter or digit",
    LABEL_KEY["pattern"]: _KEY_WORDS,
    LABEL_KEY_OR_EMPTY["pattern"]: _KEY_WORDS,
    f"^({SUBDOMAIN_PATTERN}/)?({VALUE_PATTERN})$": _KEY_WORDS,
    _ANNOTATION_KEY["pattern"]: _KEY_WORDS,
}
"""What each pattern above demands, in words, and the one by which CRDs write keys of labels."""
