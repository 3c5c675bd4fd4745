"""`check --changed-from`: what a branch changes, by the policy that it was taken from."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.command import Command

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: NAME
  namespace: vision
  labels: {kueue.x-k8s.io/queue-name: main}
spec:
  runtimeRef: {name: own, kind: TrainingRuntime}
  trainer:
    numNodes: 8
    image: registry.example.com/a:1
    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: own, namespace: vision, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "registry.example.com/a:1"}]}}}
"""
QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: main, namespace: vision}
spec: {clusterQueue: all}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources: [{name: nvidia.com/gpu, nominalQuota: 64}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: h100}
"""
EVIL = """\
apiVersion: v1
kind: Pod
metadata: {name: evil, namespace: vision}
spec:
  containers: [{name: a, image: "a:1", securityContext: {privileged: true}}]
"""
JOBS = 3
KNOWN = "Known findings of objects that this change does not touch"


def git(cli: Command, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *who, *words], cwd=cli.folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(cli: Command, **files: str) -> None:
    """Write files, whose names have `__` for a slash, remove empty ones, and commit."""
    for name, text in files.items():
        path = f"{name.replace('__', '/')}.yaml"
        if text:
            cli.write(path, text)
        else:
            (cli.folder / path).unlink()
    git(cli, "add", "--all")
    git(cli, "commit", "--quiet", "--allow-empty", "--message", "more")


@pytest.fixture
def branch(cli: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A branch of a repository with jobs, their runtime and their queue."""
    for name in [each for each in os.environ if each.startswith("GIT_")]:
        monkeypatch.delenv(name)
    git(cli, "init", "--quiet", "--initial-branch", "main")
    jobs = {f"jobs__{index}": JOB.replace("NAME", f"sweep-{index}") for index in range(JOBS)}
    commit(cli, runtime=RUNTIME, queues=QUEUES, **jobs)
    git(cli, "checkout", "--quiet", "-b", "topic")
    return cli


def report(cli: Command, *arguments: str, ref: str = "main") -> dict[str, Any]:
    done = cli("check", ".", "--changed-from", ref, "--format", "json", *arguments)
    assert done.out, done.err
    found: dict[str, Any] = json.loads(done.out)
    assert found["exitCode"] == done.code
    return found


def failing(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["rule"], each["name"]) for each in found["findings"] if each["fails"]]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"queues": QUEUES.replace("nominalQuota: 64", "nominalQuota: 16")}, "quota-fits"),
        (
            {
                "queues": QUEUES
                + "spec: {nodeTaints: [{key: team, value: a, effect: NoSchedule}]}\n"
            },
            "taints-tolerated",
        ),
        (
            {
                "quota": "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: a, namespace: vision}\n"
                "spec: {hard: {requests.nvidia.com/gpu: 8}}\n"
            },
            "gpu-quota",
        ),
        ({"runtime": RUNTIME.replace("containers:", "hostPID: true, containers:")}, ""),
        ({"jobs__9": JOB.replace("NAME", "sweep-1").replace("8", "4")}, "unique-name"),
    ],
)
def test_what_a_change_makes_of_others_fails_and_what_was_so_is_a_number(
    branch: Command, files: dict[str, str], expected: str
) -> None:
    before = json.loads(branch("check", ".", "--format", "json").out)
    commit(branch, **files)
    found = report(branch)
    whole = json.loads(branch("check", ".", "--format", "json").out)
    old = {each["fingerprint"] for each in before["findings"]}
    unchanged = [each for each in found["findings"] if each["isUnchanged"]]
    assert {each["fingerprint"] for each in unchanged}.isdisjoint(old)
    news = [each for each in whole["findings"] if each["fails"] and each["fingerprint"] not in old]
    assert sorted(failing(found)) == sorted((each["rule"], each["name"]) for each in news)
    assert found["exitCode"] == 1
    assert not expected or expected in {each["rule"] for each in unchanged}


def test_a_runtime_that_changes_tells_of_its_jobs_what_is_new(branch: Command) -> None:
    commit(branch, runtime=RUNTIME.replace("a:1", "a:2"))
    found = report(branch)
    assert {each["kind"] for each in found["findings"] if not each["isUnchanged"]} == {
        "TrainingRuntime"
    }
    assert found["notes"][KNOWN].endswith(f"findings in {JOBS} files")
    annotations = branch("check", ".", "--changed-from", "main", "--format", "github").out
    assert "sweep-" not in annotations
    assert f"::notice title={KNOWN}::" in annotations


def test_a_runtime_that_is_gone_is_missed_by_its_jobs(branch: Command) -> None:
    commit(branch, runtime="")
    assert {rule for rule, _ in failing(report(branch))} == {"runtime-exists"}


def test_what_others_have_merged_since_is_no_change_of_the_branch(branch: Command) -> None:
    commit(branch, notes__a="words: more\n")
    git(branch, "checkout", "--quiet", "main")
    commit(branch, jobs__1=EVIL, queues=QUEUES.replace("64", "32"))
    git(branch, "checkout", "--quiet", "topic")
    found = report(branch)
    assert (found["objects"], found["findings"], found["exitCode"]) == (0, [], 0)


def test_a_clone_that_lacks_the_commit_is_told_what_to_fetch(
    branch: Command, tmp_path: Path
) -> None:
    commit(branch, notes__a="words: more\n")
    clone = tmp_path / "clone"
    url = branch.folder.as_uri()
    subprocess.run(["git", "clone", "-q", "--depth", "1", url, clone], check=True)
    git(Command(clone, branch.env), "fetch", "-q", "--depth", "1", "origin", "main")
    shallow = Command(clone, branch.env)
    done = shallow("check", ".", "--changed-from", "FETCH_HEAD")
    assert done.code == 1
    assert "`git fetch --unshallow`, in a workflow of GitHub `fetch-depth: 0`" in done.err
    git(shallow, "fetch", "-q", "--unshallow", "origin", "+main:refs/remotes/origin/main")
    assert shallow("check", ".", "--changed-from", "origin/main").code == 0


def test_revisions_without_a_common_commit_are_told_apart(branch: Command) -> None:
    git(branch, "checkout", "--quiet", "--orphan", "other")
    commit(branch, notes__a="words: more\n")
    done = branch("check", ".", "--changed-from", "main")
    assert (done.code, done.out) == (1, "")
    assert "'main' and HEAD have no commit in common; name the revision" in done.err


def test_what_could_not_be_read_before_is_a_note_until_it_is_touched(branch: Command) -> None:
    git(branch, "checkout", "--quiet", "main")
    commit(branch, broken="apiVersion: v1\nkind: Pod\na: [\n")
    git(branch, "checkout", "--quiet", "-B", "topic")
    commit(branch, notes__a="words: more\n")
    found = report(branch)
    assert (found["exitCode"], found["problems"]) == (0, [])
    assert any("broken.yaml" in each for each in found["notes"].values())
    commit(branch, broken="apiVersion: v1\nkind: Pod\na: [ \n")
    assert report(branch)["exitCode"] == 3


# The policy.

OFF = "rules: {privileged: {enforcement: disabled}}\n"


@pytest.mark.parametrize(
    "policy",
    [
        OFF,
        "exclude: [evil.yaml]\n",
        "pack: cost\n",
        "rules: {privileged: {severity: low}}\n",
        "exemptions: [{rule: privileged, owner: a, reason: b, expires: 2999-01-01}]\n",
    ],
)
@pytest.mark.parametrize("was_there", [True, False])
def test_a_change_does_not_choose_its_judge(branch: Command, policy: str, was_there: bool) -> None:
    if was_there:
        git(branch, "checkout", "--quiet", "main")
        commit(branch, **{"trainer-policy": "pack: training\n"})
        git(branch, "checkout", "--quiet", "-B", "topic")
    commit(branch, evil=EVIL, **{"trainer-policy": policy})
    found = report(branch)
    assert ("privileged", "evil") in failing(found)
    (note,) = (text for title, text in found["notes"].items() if "policy" in title)
    lines = note.splitlines()
    assert lines[-1] == "trainer-policy.yaml"
    lasts = "exemptions" in policy
    assert ("lets pass 1 finding: critical privileged of Pod vision/evil" in lines) is not lasts


def test_what_a_stricter_policy_would_find_is_told_too(branch: Command) -> None:
    commit(branch, **{"trainer-policy": "rules: {image-digest: {severity: high}}\n"})
    found = report(branch)
    assert found["exitCode"] == 0
    (note,) = (text for title, text in found["notes"].items() if "policy" in title)
    named = ", ".join(f"TrainJob vision/sweep-{index}" for index in range(JOBS))
    assert (
        f"finds {JOBS + 0} findings: high image-digest of {named}" in note
        or "high image-digest" in note
    )


def test_a_policy_that_could_not_be_used_may_be_mended(branch: Command) -> None:
    git(branch, "checkout", "--quiet", "main")
    commit(branch, **{"trainer-policy": "rules: {no-rule: {}}\n"})
    git(branch, "checkout", "--quiet", "-B", "topic")
    commit(branch, **{"trainer-policy": "pack: training\n"})
    found = report(branch)
    assert found["exitCode"] == 0
    assert any("whose own cannot be used: the new one judged" in each for each in found["notes"])
    commit(branch, **{"trainer-policy": "rules: {other-rule: {}}\n"})
    done = branch("check", ".", "--changed-from", "main")
    assert (done.code, "other-rule" in done.err) == (1, True)


def test_a_policy_of_the_platform_is_as_it_is(branch: Command, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(OFF)
    commit(branch, evil=EVIL)
    assert failing(report(branch, "--config", str(policy))) == []


def test_pools_say_what_there_is_as_queues_do(branch: Command) -> None:
    pool = {
        "name": "h100",
        "capacity": {"cpu": 96, "memory": "1000Gi", "nvidia.com/gpu": 8},
        "nodes": 8,
    }
    git(branch, "checkout", "--quiet", "main")
    policy = {"rules": {"image-digest": {"severity": "low"}}, "pools": [pool]}
    commit(branch, **{"trainer-policy": yaml.safe_dump(policy)})
    git(branch, "checkout", "--quiet", "-B", "topic")
    assert failing(report(branch)) == []
    pool["nodes"] = 2
    commit(branch, **{"trainer-policy": yaml.safe_dump(policy)})
    found = report(branch)
    assert {name for _, name in failing(found)} == {f"sweep-{index}" for index in range(JOBS)}
    assert all(each["isUnchanged"] for each in found["findings"])


def test_a_policy_that_is_a_link_is_followed_in_the_revision(branch: Command) -> None:
    git(branch, "checkout", "--quiet", "main")
    branch.write("policies/a.yaml", "rules: {privileged: {severity: medium}}\n")
    (branch.folder / "trainer-policy.yaml").symlink_to("policies/a.yaml")
    commit(branch)
    git(branch, "checkout", "--quiet", "-B", "topic")
    commit(branch, evil=EVIL, policies__a=OFF)
    severities = {each["rule"]: each["severity"] for each in report(branch)["findings"]}
    assert severities["privileged"] == "medium"


def test_a_policy_of_another_repository_is_as_it_is(branch: Command, tmp_path: Path) -> None:
    other = Command(tmp_path / "other", branch.env)
    other.folder.mkdir()
    git(other, "init", "--quiet")
    commit(other, policy=OFF)
    commit(branch, evil=EVIL)
    assert failing(report(branch, "--config", "../other/policy.yaml")) == []


def test_a_baseline_and_a_pack_are_those_of_the_revision(branch: Command) -> None:
    git(branch, "checkout", "--quiet", "main")
    pack = "from trainer_infra.rules.pack import Pack\nPACK = Pack('own')\n"
    branch.write("own/pack.py", pack)
    branch.write("known.json", '{"version": 1, "findings": []}')
    commit(branch)
    git(branch, "checkout", "--quiet", "-B", "topic")
    commit(branch, evil=EVIL)
    branch("check", "evil.yaml", "--write-baseline", "known.json")
    disabled = "settings={'privileged': Setting(enforcement=Enforcement.DISABLED)}"
    more = "from trainer_infra.rules.pack import Enforcement, Setting\n"
    branch.write("own/pack.py", more + pack.replace("'own'", f"'own', {disabled}"))
    commit(branch)
    found = report(branch, "--pack", "own", "--baseline", "known.json")
    assert failing(found) == [("privileged", "evil")]
    (note,) = (text for title, text in found["notes"].items() if "policy" in title)
    assert {"known.json", "own/pack.py"} <= {*note.splitlines()}


def test_words_that_yaml_reads_otherwise_are_taken(branch: Command) -> None:
    text = "rules: {ttl: {enforcement: off}, schema: {parameters: {trainerVersion: 2.1}}}\n"
    branch.write("trainer-policy.yaml", text)
    found = json.loads(branch("check", ".", "--format", "json").out)
    assert "ttl" not in {each["id"] for each in found["rules"]}
    branch.write("trainer-policy.yaml", "rules: {ttl: {enforcement: on}}\n")
    done = branch("check", ".")
    assert done.code == 1
    assert "is true in YAML; write advisory, mandatory, remediate, disabled" in done.err


# Places.


def test_forges_get_paths_from_the_repository_wherever_the_check_runs(branch: Command) -> None:
    inside = Command(branch.folder / "jobs", branch.env)
    for where, path in ((branch, "jobs"), (inside, "."), (inside, str(inside.folder))):
        sarif = json.loads(where("check", path, "--format", "sarif").out)
        (run,) = sarif["runs"]
        places = [
            place["physicalLocation"]["artifactLocation"]
            for each in run["results"]
            for place in (*each["locations"], *each.get("relatedLocations", ()))
        ]
        assert {each["uri"] for each in places} == {f"jobs/{index}.yaml" for index in range(JOBS)}
        assert (
            {each["uriBaseId"] for each in places} == {"%SRCROOT%"} == {*run["originalUriBaseIds"]}
        )
        issues = json.loads(where("check", path, "--format", "gitlab").out)
        assert {each["location"]["path"] for each in issues} == {
            f"jobs/{index}.yaml" for index in range(JOBS)
        }
        assert 'name="jobs/0.yaml"' in where("check", path, "--format", "junit").out
        assert "file=jobs/0.yaml," in where("check", path, "--format", "github").out
    assert inside("check", ".").out.startswith("0.yaml:")
    above = inside("check", "../runtime.yaml", "--format", "gitlab").out
    assert {each["location"]["path"] for each in json.loads(above)} == {"runtime.yaml"}


def test_the_nearest_policy_above_holds_and_its_patterns_begin_there(branch: Command) -> None:
    branch.write("trainer-policy.yaml", "exclude: [jobs/0.yaml, /1.yaml]\npack: restricted\n")
    inside = Command(branch.folder / "jobs", branch.env)
    found = json.loads(inside("check", ".", "--format", "json").out)
    assert found["files"] == ["1.yaml", "2.yaml"]
    assert found["notes"]["The configuration, from a folder above"] == "../trainer-policy.yaml"
    assert found["failOn"] == "medium"
    branch.write("jobs/trainer-policy.yaml", yaml.safe_dump({"exclude": ["/1.yaml"]}))
    found = json.loads(inside("check", ".", "--exclude", "2.yaml", "--format", "json").out)
    assert (found["files"], found["failOn"]) == (["0.yaml"], "high")
    named = inside("check", ".", "--config", "../trainer-policy.yaml", "--format", "json").out
    assert json.loads(named)["files"] == ["0.yaml", "2.yaml"]
    # It ends at the folder of the repository.
    git(inside, "init", "--quiet")
    (branch.folder / "jobs/trainer-policy.yaml").unlink()
    assert json.loads(inside("check", ".", "--format", "json").out)["failOn"] == "high"
