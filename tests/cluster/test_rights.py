"""Each right of the Roles is needed: without it one sentence names it, and nothing is half made."""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.cluster import test_early_ends as early_ends
from tests.cluster.submissions import SECRET, Job
from tests.cluster.world import World, ok
from tests.deploy.project import until
from trainer_infra.cluster import rights as account_rights
from trainer_infra.cluster import runtimes
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.cluster.provider.record_store import RECORDS
from trainer_infra.cluster.rights import LOOK, ROLES, Right, Rights
from trainer_infra.errors import Refused
from trainer_infra.kube import http
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.kube.resource import JOB
from trainer_infra.runs.run import Contents, Owner, RunKey

RBAC = "/apis/rbac.authorization.k8s.io/v1"
WORKLOADS = account_rights.right_to(account_rights.WORKLOAD, "list")
_COUNT = itertools.count()

As = Callable[..., Cluster]


def kubeconfig(api_server: RunningServer, user: str, folder: Path) -> str:
    """The server as an account sees it."""
    config = json.loads(api_server.kubeconfig.read_text())
    config["users"][0]["user"]["as"] = user
    file = folder / user
    file.write_text(json.dumps(config))
    return str(file)


def allow(world: World, user: str, rights: tuple[Right, ...]) -> None:
    """Give an account these rights, in the namespace or in the cluster."""
    for namespaced in (True, False):
        rules = [
            {"apiGroups": [each.group], "resources": [each.resource], "verbs": [each.verb]}
            for each in rights
            if each.namespaced == namespaced
        ]
        kind = "Role" if namespaced else "ClusterRole"
        place = f"{RBAC}/namespaces/{world.namespace}" if namespaced else RBAC
        subjects = [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": user}
        head = {"metadata": {"name": user}}
        ok(world.client.create(f"{place}/{kind.lower()}s", {**head, "rules": rules}))
        binding = {**head, "roleRef": reference, "subjects": subjects}
        ok(world.client.create(f"{place}/{kind.lower()}bindings", binding))


@pytest.fixture
def account(api_server: RunningServer, world: World, tmp_path: Path) -> Iterator[As]:
    """Makes the driver as an account with these rights alone."""
    made: list[Cluster] = []

    def start(*rights: Right) -> Cluster:
        user = f"ci-{world.namespace}-{next(_COUNT)}"
        allow(world, user, rights)
        file = kubeconfig(api_server, user, tmp_path)
        client = run_in_loop(http.connect_client(file))
        every = {right for each in ROLES.values() for right in each}

        def known() -> bool:
            # The server learns of a Role a moment after it is stored.
            return set(run_in_loop(Rights(client).denied(world.namespace, every))) == every - set(
                rights
            )

        until(known)
        run_in_loop(client.close())
        made.append(Cluster(file, None))
        return made[-1]

    yield start
    for each in made:
        each.close()


def without(rights: tuple[Right, ...], right: Right) -> tuple[Right, ...]:
    return tuple(each for each in rights if each != right)


def lacking(right: Right) -> str:
    return f"it lacks the right to {account_rights.shown_rights([right])}"


def shown(right: Right) -> str:
    return right.shown()


def with_secret(job: Job) -> Job:
    return replace(job, secrets={"token": SECRET})


@pytest.mark.usefixtures("collector")
def test_with_the_whole_role_a_run_is_made_looked_at_changed_and_deleted(
    account: As, world: World, job: Job
) -> None:
    cluster = account(*ROLES["submit"], *LOOK)
    made = cluster.submit(with_secret(job).submission())
    key = RunKey(job.namespace, "tj", made.uid)
    cluster.update_secrets(key, {"token": "other"})
    cluster.repair(key, Contents({"token": "other"}))
    assert cluster.suspend(key, True).phase == "Suspended"
    assert cluster.unseen(job.namespace) == ""
    assert [each.name for each in cluster.list_runs(job.namespace).runs] == ["tj"]
    assert cluster.delete(key) == ""
    assert world.all_names() == {}


@pytest.mark.parametrize("right", ROLES["submit"], ids=shown)
def test_a_submit_names_the_right_that_is_missing_and_writes_nothing(
    account: As, world: World, job: Job, right: Right
) -> None:
    cluster = account(*without(ROLES["submit"], right))
    with pytest.raises(Refused) as error:
        cluster.submit(with_secret(job).submission())
    assert str(error.value).startswith(
        f"this account may not submit run {job.namespace}/tj: in namespace {job.namespace} "
        f"{lacking(right)}; nothing was changed; ask for the Roles of docs/kubernetes.md"
    )
    assert world.all_names() == {}


def test_a_run_without_secrets_needs_no_right_to_secrets(
    account: As, world: World, job: Job
) -> None:
    rights = tuple(each for each in ROLES["submit"] if each.resource != "secrets")
    account(*rights).submit(job.submission())
    assert world.names("JobSet") == ["tj"]


@pytest.mark.parametrize("right", RECORDS.change, ids=shown)
@pytest.mark.parametrize("verb", ["suspend", "repair"])
def test_what_cannot_be_changed_whole_is_not_changed(
    cluster: Cluster, account: As, world: World, job: Job, right: Right, verb: str
) -> None:
    made = cluster.submit(job.submission())
    before = world.there("ConfigMap", "tj-runtime-snapshot"), world.there("JobSet", "tj")
    theirs = account(*without(ROLES["cli"], right))
    key = RunKey(job.namespace, "tj", made.uid)
    repair = partial(theirs.repair, contents=Contents())
    change = repair if verb == "repair" else partial(theirs.suspend, value=True)
    with pytest.raises(Refused) as error:
        change(key)
    assert f"this account may not {verb} run {job.namespace}/tj" in str(error.value)
    assert lacking(right) in str(error.value)
    after = world.there("ConfigMap", "tj-runtime-snapshot"), world.there("JobSet", "tj")
    assert after == before


@pytest.mark.parametrize(
    "right", [each for each in ROLES["gc"] if each.verb == "delete"], ids=shown
)
@pytest.mark.parametrize("purpose", ["cli", "gc"])
def test_what_cannot_be_deleted_whole_is_not_deleted(
    cluster: Cluster, account: As, world: World, job: Job, right: Right, purpose: str
) -> None:
    made = cluster.submit(with_secret(job).submission())
    before = world.all_names()
    theirs = account(*without(ROLES[purpose], right))
    with pytest.raises(Refused) as error:
        theirs.delete(RunKey(job.namespace, "tj", made.uid))
    assert f"this account may not delete run {job.namespace}/tj" in str(error.value)
    assert lacking(right) in str(error.value)
    assert world.all_names() == before


@pytest.mark.parametrize("right", [each for each in LOOK if each not in WORKLOADS], ids=shown)
def test_a_gate_and_describe_warn_of_what_they_may_not_read(
    account: As, job: Job, right: Right
) -> None:
    said = account(*without(LOOK, right)).unseen(job.namespace)
    assert said == (
        f"this account lacks the right to {right.shown()} in namespace {job.namespace}: why pods "
        "wait, or why one failed, may stay unknown; ask for the Roles of docs/kubernetes.md, Rights"
    )


def test_who_may_not_read_jobs_leaves_it_to_another_to_keep_how_a_run_ended(
    account: As, world: World, job: Job
) -> None:
    (jobs,) = account_rights.right_to(JOB, "list")
    cluster = account(*ROLES["submit"], *without(LOOK, jobs))
    early_ends.begin(cluster, world, job)
    early_ends.event(world, "Killing", "Stopping container node")
    world.client.delete(world.path("Pod", early_ends.POD))
    early_ends.end_job(world)
    assert early_ends.now(cluster, job).phase == "Complete"
    assert [each.phase for each in cluster.list_runs(job.namespace).runs] == ["Complete"]
    other = account(*ROLES["submit"], *LOOK)
    assert early_ends.failed_early(early_ends.now(other, job), "was told to end")
    assert early_ends.now(cluster, job).phase == "Failed"


def test_a_list_of_every_namespace_says_which_right_is_missing(account: As, job: Job) -> None:
    theirs = account(*ROLES["gc"])
    assert theirs.list_runs(job.namespace).runs == ()
    with pytest.raises(Refused, match='cannot list resource "configmaps"'):
        theirs.list_runs()


@pytest.mark.parametrize("right", ROLES["runtimes"], ids=shown)
def test_a_runtime_names_the_right_that_is_missing(
    api_server: RunningServer, account: As, world: World, right: Right, tmp_path: Path
) -> None:
    account(*without(ROLES["runtimes"], right))
    user = max(tmp_path.iterdir(), key=lambda each: each.stat().st_mtime_ns).name
    client = run_in_loop(http.connect_client(kubeconfig(api_server, user, tmp_path)))
    value = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "mine", "namespace": world.namespace},
        "spec": {"mlPolicy": {"numNodes": 1}},
    }

    async def life() -> None:
        owner = Owner("p", "s", "u")
        labelled = runtimes.with_owner(value, owner)
        made = await runtimes.create_runtime(client, labelled, adopt=False)
        await runtimes.delete_runtime(client, labelled, made["metadata"]["uid"], owner)

    with pytest.raises(Refused, match=f'cannot {right.verb} resource "{right.resource}"'):
        run_in_loop(life())
    run_in_loop(client.close())
