"""spec.template.spec.replicatedJobs of the shipped runtimes: the shapes that several of them share."""

from typing import Any

from trainer_infra import names


def node(image: str) -> dict[str, Any]:
    """The job `node` that trains: one container of that image, without command or resources."""
    return {
        "name": names.NODE,
        "template": {
            "metadata": {"labels": {names.ANCESTOR_LABEL: names.TRAINER}},
            "spec": {"template": {"spec": {"containers": [{"name": names.NODE, "image": image}]}}},
        },
    }
