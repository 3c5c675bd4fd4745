"""Flux: the HPC scheduler inside the job; the first node starts it and runs the command on all.

An init container copies Flux into the pod, so that any image can be used. Rules:
reference behaviour 3.7; the scripts: render/flux_scripts.py; the certificate is made
at create: keys/curve_certificate.py.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import Flux
from trainer_infra.catalog.device_resources import DeviceUse
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import (
    child_metadata,
    endpoints,
    flux_scripts,
    resolve,
    resources,
    trainer_env,
)
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Container, Draft, PodSet, upsert_volumes
from trainer_infra.render.phases import Plugin, Watch

INSTALLER: Final = "flux-installer"
VIEW_IMAGE: Final = "FLUX_VIEW_IMAGE"
NETWORK_DEVICE: Final = "FLUX_NETWORK_DEVICE"
QUEUE_POLICY: Final = "FLUX_QUEUE_POLICY"
SETTINGS: Final[Mapping[str, str]] = {
    VIEW_IMAGE: "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
    NETWORK_DEVICE: "eth0",
    QUEUE_POLICY: "fcfs",
}
"""Variables of the trainer's container that set Flux up, and their defaults."""
SCRIPTS: Final = "/etc/flux-config"
ENTRYPOINT: Final = "entrypoint.sh"
INIT: Final = "init.sh"
SOFTWARE_VOLUME: Final = "spack-install"
INSTALL_VOLUME: Final = "flux-install"
CURVE_VOLUME: Final = "flux-curve"
MEMORY_VOLUME: Final = "shared-memory"
MEMORY: Final = "/dev/shm"  # noqa: S108  of the pod, not of this machine


def validate(draft: Draft) -> Iterable[Problem]:
    """Processes per node, and the name of the init container."""
    per_node = _per_node(draft)
    if per_node < 1:
        yield Problem(
            "spec.trainer.numProcPerNode",
            "must be greater than or equal to 1 for Flux TrainJob",
            got=per_node,
        )
    jobs = (each for each in draft.pod_sets if each.name == _job(draft))
    for container in (each for job in jobs for each in job.init_containers):
        if container.name == INSTALLER:
            yield Problem(
                "spec.trainer.initContainers",
                f"InitContainer '{INSTALLER}' is reserved",
                got=INSTALLER,
                fix="rename it in the runtime",
            )


def enforce_ml_policy(draft: Draft) -> Draft:
    """Node count, user environment, the wrapped command, the installer and its volumes.

    Raises:
        InvalidInput: Like the reference: the TrainJob has no spec.trainer.numNodes (Q18).
    """
    if draft.trainer_spec.num_nodes is None and not draft.ours(Deviation.Q18):
        raise InvalidInput([Problem("spec.trainer.numNodes", "is needed by the Flux plugin")])
    command, left = _command(draft)
    draft = trainer_env.with_env(trainer_env.with_num_nodes(draft))
    image = _settings(draft)[VIEW_IMAGE]
    draft = draft.with_pod_set(_job(draft), partial(_node, draft, image))
    return replace(draft, command=("/bin/bash", f"{SCRIPTS}/{ENTRYPOINT}", command), args=left)


def build(draft: Draft) -> Iterable[JSONObject]:
    """The ConfigMap with the scripts, and the Secret with the certificate, not made yet."""
    settings = _settings(draft)
    name, namespace = draft.job.metadata.name or "", draft.job.metadata.namespace
    subdomain = endpoints.subdomain(name, draft.spec if draft.ours(Deviation.Q4) else {})
    cluster = flux_scripts.FluxCluster(
        job=f"{name}-{_job(draft)}-0",
        nodes=trainer_env.nodes(draft),
        domain=f"{subdomain}.{namespace}.svc.cluster.local" if namespace else subdomain,
        device=settings[NETWORK_DEVICE],
        queue_policy=settings[QUEUE_POLICY],
    )
    tasks = flux_scripts.Tasks(
        per_node=_per_node(draft),
        gpus_per_node=resources.accelerators(draft, [DeviceUse.GPU]),
        like_reference=not draft.ours(Deviation.Q18),
    )
    data = {ENTRYPOINT: flux_scripts.entrypoint(cluster, tasks), INIT: flux_scripts.init(cluster)}
    yield child_metadata.child_object(
        draft.job, "ConfigMap", names.FLUX_ENTRYPOINT_SUFFIX, data=data
    )
    key = {names.FLUX_CURVE_KEY: names.GENERATED_SHOWN}
    yield child_metadata.child_object(draft.job, "Secret", names.FLUX_CURVE_SUFFIX, data=key)


def _per_node(draft: Draft) -> int:
    flux = draft.ml_policy.flux or Flux()
    found = (draft.trainer_spec.num_proc_per_node, flux.num_proc_per_node)
    return next((each for each in found if each is not None), 1)


def _job(draft: Draft) -> str:
    """The replicated job that Flux runs in: the trainer's; in the reference the one named node (Q4)."""
    trainer = draft.trainer if draft.ours(Deviation.Q4) else None
    return names.NODE if trainer is None else trainer.name


def _settings(draft: Draft) -> dict[str, str]:
    """The defaults, then the runtime's variables, then the TrainJob's.

    In the reference an empty variable of the TrainJob takes the setting away (Q18).
    """
    settings = dict(SETTINGS)
    container = draft.trainer.container(names.NODE) if draft.trainer else None
    settings.update(_values(container.env if container else ()))
    user = draft.trainer_spec.env or ()
    settings.update(_values(user))
    if not draft.ours(Deviation.Q18):
        empty = {each["name"]: "" for each in user if not each.get("value")}
        settings.update((name, "") for name in settings.keys() & empty.keys())
    return settings


def _values(env: Iterable[JSONObject]) -> dict[str, str]:
    return {
        each["name"]: each["value"]
        for each in env
        if each["name"] in SETTINGS and each.get("value")
    }


def _command(draft: Draft) -> tuple[str, tuple[str, ...] | None]:
    """The command that the entrypoint is given, and the arguments that stay in the container.

    The reference joins with blanks, and leaves the runtime's arguments behind (Q18).
    """
    template: JSONObject = next((each for _, each in resolve.trainer_containers(draft.spec)), {})
    command = draft.command if draft.command is not None else template.get("command") or ()
    if not draft.ours(Deviation.Q18):
        return " ".join((*command, *(draft.args or ()))).strip(), None
    args = draft.args if draft.args is not None else template.get("args") or ()
    return shlex.join((*command, *args)), () if template.get("args") else None


def _node(draft: Draft, image: str, pod_set: PodSet) -> PodSet:
    scripts = child_metadata.child_name(draft.job, names.FLUX_ENTRYPOINT_SUFFIX)
    install = {"name": INSTALL_VOLUME, "mountPath": "/mnt/flux"}
    config = {"name": scripts, "mountPath": SCRIPTS, "readOnly": True}
    installer = Container(
        name=INSTALLER,
        image=image,
        command=("/bin/bash", f"{SCRIPTS}/{INIT}"),
        volume_mounts=(install, config),
    )
    # The reference mounts the shared memory read-only (Q18).
    protected = {} if draft.ours(Deviation.Q18) else {"readOnly": True}
    mounts = (
        install,
        {"name": SOFTWARE_VOLUME, "mountPath": "/opt/software"},
        config,
        {"name": CURVE_VOLUME, "mountPath": "/curve", "readOnly": True},
        {"name": MEMORY_VOLUME, "mountPath": MEMORY, **protected},
    )
    return replace(
        pod_set.with_container(names.NODE, lambda node: node.plus(mounts=mounts)),
        volumes=upsert_volumes(pod_set.volumes, _volumes(draft, scripts)),
        init_containers=(*pod_set.init_containers, installer),
    )


def _volumes(draft: Draft, scripts: str) -> tuple[JSONObject, ...]:
    curve = child_metadata.child_name(draft.job, names.FLUX_CURVE_SUFFIX)
    return (
        {"name": SOFTWARE_VOLUME, "emptyDir": {}},
        {"name": INSTALL_VOLUME, "emptyDir": {}},
        {"name": scripts, "configMap": {"name": scripts, "defaultMode": 0o755}},
        {"name": MEMORY_VOLUME, "emptyDir": {"medium": "Memory"}},
        {"name": CURVE_VOLUME, "secret": {"secretName": curve, "defaultMode": 0o400}},
    )


PLUGIN = Plugin(
    name="Flux",
    applies=lambda draft: draft.ml_policy.flux is not None,
    validate=validate,
    enforce_ml_policy=enforce_ml_policy,
    build=build,
    watches=(Watch("v1", "ConfigMap"), Watch("v1", "Secret")),
)
