"""Sets of versions that work together, and the way from one to another."""

import re
import subprocess
from pathlib import Path

import pytest

from trainer_infra.errors import InvalidInput
from trainer_infra.platform.compatibility import (
    KUBERNETES,
    PAIRS,
    PROJECTS,
    VersionChange,
    VersionPair,
    upgrade_path,
    version_problems,
)
from trainer_infra.platform.releases import RELEASES, release_of

ROOT = Path(__file__).resolve().parents[2]
OLD = {"Kubernetes": "1.34", "JobSet": "v0.11.1", "Trainer": "2.2.0", "Kueue": "0.17.1"}
NEW = {"Kubernetes": "1.34", "JobSet": "0.12.0", "Trainer": "2.3.0", "Kueue": "0.19.0"}


def test_the_default_releases_work_together() -> None:
    projects = ("JobSet", "LeaderWorkerSet", "Trainer", "Kueue")
    versions = {each: release_of(each, None).version for each in projects}
    assert version_problems({**versions, "Kubernetes": "1.34.4", "SDK": "0.5.0"}) == ()


def test_every_release_that_is_pinned_is_known() -> None:
    known = {side for pair in PAIRS for side in (pair.first, pair.second)}
    for each in (each for each in RELEASES if each.project in PROJECTS):
        minor = ".".join(each.version.removeprefix("v").split(".")[:2])
        if (each.project, minor) not in known:
            pytest.fail(f"{each.project} {minor} is in no pair")
        assert (each.project, minor) in KUBERNETES


BAD = {
    "a pair that an issue knows": (
        {"Trainer": "2.1.0", "Kueue": "0.17.1"},
        "Kueue: 0.17 does not work with Trainer 2.1: a TrainJob never starts (kubernetes-sigs/kueue#11931); use Kueue 0.16 with it",
    ),
    "a pair that no one tried": (
        {"JobSet": "0.11.1", "Kueue": "0.19.0"},
        "Kueue: 0.19 was never seen to work with JobSet 0.11; use Kueue 0.17 with it",
    ),
    "a version that no one knows": (
        {"Trainer": "2.9.0", "JobSet": "0.12.0"},
        "Trainer: is not a version of Trainer of which anything is known, got '2.9'; use 2.1, 2.2, 2.3",
    ),
    "a Kubernetes that is too new": (
        {"Trainer": "2.3.0", "Kubernetes": "1.36.3"},
        "Trainer: 2.3 is tried with Kubernetes 1.32 to 1.35, got 'Kubernetes 1.36'",
    ),
    "an SDK of another Trainer": (
        {"Trainer": "2.2.1", "SDK": "0.5.0"},
        "SDK: 0.5 was never seen to work with Trainer 2.2",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_set_is_refused_with_the_reason(case: str) -> None:
    versions, sentence = BAD[case]
    assert [str(each) for each in version_problems(versions)] == [sentence]


def test_manifests_of_a_site_are_not_judged() -> None:
    assert version_problems({"Trainer": "custom", "Kueue": "0.19.0"}) == ()


def test_the_way_between_two_sets_has_only_good_stops() -> None:
    here = {"Kubernetes": "1.34", "JobSet": "0.11", "Trainer": "2.2", "Kueue": "0.17"}
    seen = []
    for step in upgrade_path(OLD, NEW):
        for each in step:
            assert here[each.project] == each.before
            here[each.project] = each.after
        assert version_problems(here) == ()
        seen.append([f"{each.project} {each.after}" for each in step])
    # Kueue 0.17 knows JobSet 0.11 alone, and Kueue 0.18 JobSet 0.12 alone.
    assert seen == [["JobSet 0.12", "Kueue 0.19"], ["Trainer 2.3"]]


def test_what_others_are_built_on_changes_first() -> None:
    before = {"JobSet": "0.11.1", "Trainer": "2.2.1"}
    after = {"JobSet": "0.12.0", "Trainer": "2.3.0"}
    assert upgrade_path(before, after) == (
        (VersionChange("JobSet", "0.11", "0.12"),),
        (VersionChange("Trainer", "2.2", "2.3"),),
    )
    assert upgrade_path(after, after) == ()


NO_WAY = {
    "back": (NEW, OLD, "cannot be reached from the versions before"),
    "to a bad set": (
        OLD,
        {**NEW, "Kueue": "0.17"},
        "Kueue: 0.17 was never seen to work with JobSet",
    ),
    "to other projects": (OLD, {"JobSet": "0.12.0"}, "must name the same projects"),
}


@pytest.mark.parametrize("case", NO_WAY)
def test_a_way_that_no_one_knows_is_refused(case: str) -> None:
    before, after, sentence = NO_WAY[case]
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        upgrade_path(before, after)


def test_what_we_say_to_have_run_is_a_test_of_ours() -> None:
    ours = [each for each in PAIRS if each.evidence == "own run"]
    assert ours
    for each in ours:
        assert (ROOT / each.reason.split()[0]).is_file()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda each: f"{each.first}-{each.second}")
def test_what_a_module_requires_is_what_it_says(pair: VersionPair) -> None:
    """Of the modules that this machine has; others are looked at where they are fetched."""
    found = re.fullmatch(r"the module of (\w+) ([\d.]+) requires (\w+) ([\d.]+)", pair.reason)
    if found is None:
        return
    project, minor, other, wanted = found.groups()
    requirements = module_requirements(project, minor)
    if requirements is None:
        pytest.skip(f"no module of {project} {minor} is on this machine")
    assert re.search(rf"{MODULES[other]} v{re.escape(wanted)}\.", requirements)


MODULES = {
    "JobSet": "sigs.k8s.io/jobset",
    "Kueue": "sigs.k8s.io/kueue",
    "LeaderWorkerSet": "sigs.k8s.io/lws",
    "Trainer": "github.com/kubeflow/trainer/v2",
}


def module_requirements(project: str, minor: str) -> str | None:
    """The go.mod of a version in Go's cache of modules; None where there is none."""
    asked = ["go", "env", "GOMODCACHE"]
    cache = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    folder = cache / "cache" / "download" / MODULES[project] / "@v"
    files = sorted(folder.glob(f"v{minor}.*.mod"))
    return files[-1].read_text() if files else None
