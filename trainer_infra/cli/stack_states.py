"""What the states of Pulumi stacks have of runs: which are theirs, which are being made.

A run is known by its uid in the outputs of any resource of a state, and a member of a batch by its
uid among those of the batch's outputs.
"""

import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from trainer_infra.deploy import backend, stack_config
from trainer_infra.deploy.stack_config import Project
from trainer_infra.json_values import JSONObject

AT_A_TIME: Final = 4
"""States that are read at the same time: each is a process of the Pulumi command."""


def state_of(project: Project, stack: str) -> JSONObject:
    """The stack's deployment, as `pulumi stack export` has it.

    Raises:
        NotAvailable: It cannot be read.
    """
    asked = ["stack", "export", "--stack", stack]
    exported = stack_config.run_pulumi(project, asked, f"the state of stack {stack}")
    found: JSONObject = json.loads(exported).get("deployment") or {}
    return found


def owners_in(project: Project, but: str = "") -> Mapping[str, str]:
    """The stack by the uid of each run that a stack of the backend has.

    Args:
        project: a program with that backend.
        but: a stack that is left out.

    Raises:
        NotAvailable: The state of a stack cannot be read.
    """
    listed = stack_config.run_pulumi(
        project, ["stack", "ls", "--all", "--json"], "the list of stacks"
    )
    names = [each["name"] for each in json.loads(listed or "[]") if each["name"] != but]
    with ThreadPoolExecutor(AT_A_TIME) as workers:
        states = workers.map(lambda name: state_of(project, name), names)
        return {
            uid: name
            for name, state in zip(names, states, strict=True)
            for uid in owned_runs(state)
        }


def owned_runs(state: JSONObject) -> Iterator[str]:
    """The uids of the runs that resources have."""
    for resource in state.get("resources") or ():
        outputs = resource.get("outputs") or {}
        members = outputs.get("members")
        found = (outputs, *(members.values() if isinstance(members, Mapping) else ()))
        uids = (each.get("uid") for each in found if isinstance(each, Mapping))
        yield from (uid for uid in uids if isinstance(uid, str) and uid)


def being_created(state: JSONObject) -> Iterator[str]:
    """URNs whose create has begun and not ended; a killed `up` leaves them as well."""
    for operation in state.get("pending_operations") or ():
        yield operation["resource"]["urn"]


def identity_of(project: Project, stack: str = "") -> str:
    """The identity of the backend, as the provider has it.

    Args:
        project: a program with that backend.
        stack: perhaps with the organization before it; else it is the default organization.
    """
    organization = stack.rpartition("/")[0].partition("/")[0]
    url = backend.backend_url(os.environ, project.content)
    if not organization and url.startswith("http"):
        asked = ["org", "get-default"]
        organization = stack_config.run_pulumi(project, asked, "the default organization").strip()
    return backend.backend_identity(
        os.environ, project.content, organization, (project.folder, Path.cwd())
    )
