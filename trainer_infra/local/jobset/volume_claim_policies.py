"""`spec.volumeClaimPolicies`: the volumes that JobSet adds to the pods that mount its claims.

Called by pods.py. Rule: JobSet v0.12, KEP-572: a claim is named `<template>-<jobset>`, and a
pod gets it when one of its containers has a volumeMount of the template's name.
"""

from collections.abc import Iterator

from trainer_infra.json_values import JSONObject


def claim_volumes(jobset: JSONObject, pod_spec: JSONObject) -> tuple[JSONObject, ...]:
    """The volumes to add to a pod of `jobset`, in the policies' order."""
    mounted = set(_mounted(pod_spec))
    return tuple(
        {
            "name": claim,
            "persistentVolumeClaim": {"claimName": f"{claim}-{jobset['metadata']['name']}"},
        }
        for policy in jobset["spec"].get("volumeClaimPolicies") or ()
        for template in policy.get("templates") or ()
        if (claim := template["metadata"]["name"]) in mounted
    )


def _mounted(pod_spec: JSONObject) -> Iterator[str]:
    for kind in ("initContainers", "containers"):
        for container in pod_spec.get(kind) or ():
            yield from (mount["name"] for mount in container.get("volumeMounts") or ())
