"""Whose a run is counts for every verb: what another owner took over is left as it is."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.cluster.submissions import OTHER, OWNER, SECRET, Job
from tests.cluster.world import World
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.errors import Refused
from trainer_infra.runs.run import Contents, Owner, RunKey

HERE = replace(OWNER, backend="file:laptop-0123456789abcdef")
THERE = replace(OWNER, backend="file:desktop-fedcba9876543210")

VERBS: dict[str, Callable[[ClusterRuns, str, str, Owner], Any]] = {
    "suspend": lambda c, ns, uid, owner: c.suspend(RunKey(ns, "tj", uid, owner), True),
    "update_secrets": lambda c, ns, uid, owner: c.update_secrets(
        RunKey(ns, "tj", uid, owner), {"token": "other"}
    ),
    "repair": lambda c, ns, uid, owner: c.repair(RunKey(ns, "tj", uid, owner), Contents()),
    "give": lambda c, ns, uid, owner: c.give(RunKey(ns, "tj", uid, owner), owner),
}


def everything(world: World) -> dict[str, Any]:
    """Every object of the namespace, whole."""
    return {
        f"{kind} {name}": world.there(kind, name)
        for kind, listed in world.all_names().items()
        for name in listed
    }


@pytest.fixture
def taken(either: ClusterRuns, job: Job) -> str:
    """The uid of a run that OTHER took over from OWNER."""
    job.secrets = {"token": SECRET}
    first = either.submit(job.submission())
    either.submit(replace(job, owner=OTHER).submission(), adopt=True)
    return first.uid


@pytest.mark.parametrize("verb", VERBS)
def test_the_former_owner_changes_nothing_of_a_run_that_was_taken_over(
    either: ClusterRuns, world: World, taken: str, verb: str
) -> None:
    before = everything(world)
    with pytest.raises(Refused) as error:
        VERBS[verb](either, world.namespace, taken, OWNER)
    assert str(error.value) == f"run {world.namespace}/tj belongs to {OTHER.shown()} now"
    assert everything(world) == before
    VERBS[verb](either, world.namespace, taken, OTHER)


@pytest.mark.usefixtures("collector")
def test_the_former_owner_leaves_it_alone_when_it_deletes(
    either: ClusterRuns, world: World, taken: str
) -> None:
    before = everything(world)
    said = either.delete(RunKey(world.namespace, "tj", taken, OWNER))
    assert said == (f"run {world.namespace}/tj is left alone: it belongs to {OTHER.shown()} now")
    assert everything(world) == before
    assert either.delete(RunKey(world.namespace, "tj", taken, OTHER)) == ""
    assert world.all_names() == {}


def test_the_same_stack_of_another_backend_is_another_owner_and_is_named(
    either: ClusterRuns, world: World, job: Job
) -> None:
    job.owner = HERE
    run = either.submit(job.submission())
    before = everything(world)
    with pytest.raises(Refused) as error:
        either.submit(replace(job, owner=THERE).submission())
    assert str(error.value) == (
        f"run {job.namespace}/tj exists and belongs to {OWNER.urn} of stack dev of project digits "
        f"in backend {HERE.backend}; choose another name, delete it, or set adopt=True to take its "
        "place"
    )
    assert "is left alone" in either.delete(RunKey(job.namespace, "tj", run.uid, THERE))
    assert everything(world) == before
    adopted = either.submit(replace(job, owner=THERE).submission(), adopt=True)
    assert (adopted.uid, adopted.owner) == (run.uid, THERE)
    assert "is left alone" in either.delete(RunKey(job.namespace, "tj", run.uid, HERE))


@pytest.mark.usefixtures("collector")
def test_a_run_of_a_release_without_backends_is_its_states(
    cluster: Cluster, world: World, job: Job
) -> None:
    run = cluster.submit(job.submission())
    notes = world.there("ConfigMap", "tj-runtime-snapshot")["metadata"]["annotations"]
    assert json.loads(notes["trainer-infra.dev/owner"]) == {
        "project": OWNER.project,
        "stack": OWNER.stack,
        "urn": OWNER.urn,
    }
    assert cluster.submit(replace(job, owner=HERE).submission()) == run
    assert cluster.delete(RunKey(job.namespace, "tj", run.uid, HERE)) == ""
    assert world.all_names() == {}


def test_a_run_that_is_given_away_is_the_new_owners_in_all_that_it_has(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.owner, job.secrets = HERE, {"token": SECRET}
    first = cluster.submit(job.submission())
    renamed = replace(OTHER, backend=HERE.backend)
    cluster.give(RunKey(job.namespace, "tj", first.uid, HERE), renamed)
    assert cluster.get(job.namespace, "tj", first.uid) == replace(first, owner=renamed)
    stacks = {
        each["metadata"]["labels"]["trainer-infra.dev/stack"] for each in everything(world).values()
    }
    assert stacks == {"prod"}


def test_of_two_that_adopt_at_once_one_is_the_owner_and_the_other_leaves_it_alone(
    cluster: Cluster, world: World, job: Job
) -> None:
    first = cluster.submit(job.submission())
    rivals = [replace(OTHER, stack=name) for name in ("one", "two")]
    with ThreadPoolExecutor(2) as pool:
        adopting = [
            pool.submit(cluster.submit, replace(job, owner=each).submission(), adopt=True)
            for each in rivals
        ]
    assert {each.result().uid for each in adopting} == {first.uid}
    run = cluster.get(job.namespace, "tj")
    assert run is not None
    assert run.owner in rivals
    (loser,) = [each for each in rivals if each != run.owner]
    assert "is left alone" in cluster.delete(RunKey(job.namespace, "tj", run.uid, loser))
    assert world.names("JobSet") == ["tj"]
