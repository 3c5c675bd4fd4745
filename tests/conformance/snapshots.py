"""Copies of runtimes that a test makes itself."""

from typing import Any

JSON = dict[str, Any]


def snapshot(train_job: JSON, data: JSON) -> JSON:
    """The ConfigMap of a TrainJob's copy, with other data than the manager would write."""
    metadata = train_job["metadata"]
    owner = {
        "apiVersion": train_job["apiVersion"],
        "kind": "TrainJob",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    name = f"{metadata['name']}-runtime-snapshot"
    head = {"name": name, "ownerReferences": [owner]}
    return {"kind": "ConfigMap", "metadata": head, "data": data}
