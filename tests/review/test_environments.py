"""Folders that have the same objects are environments, each judged by what is in it."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tests.review import checked
from tests.review.checked import TODAY
from trainer_infra.review import baseline, changed_files, check, environments, source_objects
from trainer_infra.review.check import CheckScope, Reach
from trainer_infra.review.documents import Document, Part
from trainer_infra.review.report import Report

QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: h100}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: gpu}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources: [{{name: nvidia.com/gpu, nominalQuota: {quota}}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: gpu, namespace: vision}}
spec: {{clusterQueue: gpu}}
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}, namespace: vision, labels: {{kueue.x-k8s.io/queue-name: gpu}}}}
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer: {{numNodes: 4, resourcesPerNode: {{limits: {{nvidia.com/gpu: 8}}}}}}
"""
SMALL, LARGE = QUEUES.format(quota=8), QUEUES.format(quota=64)
DIGITS = JOB.format(name="digits")
FITS = ("quota-fits", "unique-name")


def read(files: dict[str, str]) -> tuple[Document, ...]:
    found = [source_objects.of_text(text, file) for file, text in files.items()]
    assert not [each for one in found for each in one.problems]
    return tuple(each for one in found for each in one.documents)


def of(files: dict[str, str], *rules: str, **asked: object) -> Report:
    return checked.of(read(files), *(rules or FITS), **asked)


def found(report: Report) -> list[tuple[str, str, str]]:
    return [
        (each.rule.id, each.place.file, each.what.partition(", in ")[2]) for each in report.items
    ]


def names(files: dict[str, str]) -> dict[str, list[str]]:
    documents = read(files)
    return {
        each.name: sorted({documents[one].file for one in each.positions})
        for each in environments.environments_of(documents)
    }


def test_the_job_of_a_folder_is_judged_by_the_quota_of_that_folder() -> None:
    files = {
        "envs/dev/queues.yaml": SMALL,
        "envs/dev/job.yaml": DIGITS,
        "envs/prod/queues.yaml": LARGE,
        "envs/prod/job.yaml": DIGITS,
    }
    assert found(of(files)) == [("quota-fits", "envs/dev/job.yaml", "")]
    # Whichever comes last.
    assert found(of(dict(reversed(files.items())))) == [("quota-fits", "envs/dev/job.yaml", "")]


def test_what_stands_beside_environments_is_judged_in_each_and_says_where_it_does_not_fit() -> None:
    files = {"dev/queues.yaml": SMALL, "prod/queues.yaml": LARGE, "job.yaml": DIGITS}
    report = of(files)
    assert found(report) == [("quota-fits", "job.yaml", "dev")]
    assert report.objects == 7
    both = of({**files, "prod/queues.yaml": SMALL})
    assert found(both) == [("quota-fits", "job.yaml", "")]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a/job.yaml": DIGITS, "b/queues.yaml": SMALL}, {"": ["a/job.yaml", "b/queues.yaml"]}),
        (
            {"queues/dev/a.yaml": SMALL, "queues/prod/a.yaml": LARGE, "jobs/dev/a.yaml": DIGITS,
             "jobs/prod/a.yaml": DIGITS, "all.yaml": JOB.format(name="all")},
            {
                "dev": ["all.yaml", "jobs/dev/a.yaml", "queues/dev/a.yaml"],
                "prod": ["all.yaml", "jobs/prod/a.yaml", "queues/prod/a.yaml"],
            },
        ),
        (
            {"teams/a/dev/j.yaml": DIGITS, "teams/b/dev/j.yaml": DIGITS, "teams/b/prod/j.yaml": DIGITS,
             "queues/dev/q.yaml": SMALL, "queues/prod/q.yaml": LARGE},
            {
                "a/dev": ["queues/dev/q.yaml", "teams/a/dev/j.yaml"],
                "b/dev": ["queues/dev/q.yaml", "teams/b/dev/j.yaml"],
                "b/prod": ["queues/prod/q.yaml", "teams/b/prod/j.yaml"],
            },
        ),
        (
            {"clusters/eu/q.yaml": SMALL, "clusters/us/q.yaml": LARGE,
             "teams/a/j.yaml": DIGITS, "teams/b/j.yaml": DIGITS},
            {
                f"{cluster}, {team}": [f"clusters/{cluster}/q.yaml", f"teams/{team}/j.yaml"]
                for cluster in ("eu", "us") for team in ("a", "b")
            },
        ),
        (
            {"/r/dev/q.yaml": SMALL, "/r/prod/q.yaml": LARGE, "/r/prod/deep/j.yaml": DIGITS},
            {"dev": ["/r/dev/q.yaml"], "prod": ["/r/prod/deep/j.yaml", "/r/prod/q.yaml"]},
        ),
    ],
    ids=("no object twice", "one name", "teams", "names of different things", "absolute"),
)  # fmt: skip
def test_environments_are_folders_that_have_the_same_objects(
    files: dict[str, str], expected: dict[str, list[str]]
) -> None:
    assert names(files) == expected


def test_one_object_twice_in_an_environment_is_found_at_both_places() -> None:
    files = {"a.yaml": DIGITS, "b.yaml": DIGITS, "sub/c.yaml": JOB.format(name="other")}
    assert found(of(files)) == [("unique-name", "a.yaml", ""), ("unique-name", "b.yaml", "")]
    below = {"queues.yaml": SMALL, "prod/queues.yaml": LARGE}
    assert {each for each, *_ in found(of(below))} == {"unique-name"}


def test_what_a_cluster_has_already_is_no_second_object() -> None:
    (there,) = read({"a.yaml": DIGITS})
    assert found(of({"a.yaml": DIGITS}, others=[there.value])) == []


def test_objects_of_one_name_in_two_groups_are_two() -> None:
    other = SMALL.replace("kueue.x-k8s.io", "queues.example.com")
    assert found(of({"a.yaml": SMALL, "b.yaml": other}, "unique-name")) == []


def overlays(document: Document, *folders: str) -> Document:
    return replace(document, folders=folders)


def test_an_object_that_two_overlays_build_unchanged_is_of_both() -> None:
    (job,) = read({"base/job.yaml": DIGITS})
    quotas = {"overlays/dev": SMALL, "overlays/prod": LARGE}
    queues = [
        overlays(each, folder)
        for folder, text in quotas.items()
        for each in read({"base/queues.yaml": text})
    ]
    built = source_objects.joined_sources(
        [
            source_objects.SourceObjects((overlays(job, "overlays/dev"), *queues[:3])),
            source_objects.SourceObjects((overlays(job, "overlays/prod"), *queues[3:])),
        ]
    )
    assert [each.folders for each in built.documents if each.value["kind"] == "TrainJob"] == [
        ("overlays/dev", "overlays/prod")
    ]
    assert found(checked.of(built.documents, *FITS)) == [("quota-fits", "base/job.yaml", "dev")]


def test_what_two_overlays_say_alike_has_the_place_of_each() -> None:
    (job,) = read({"base/job.yaml": DIGITS})
    (patch,) = read({"base/patch.yaml": DIGITS})
    of_overlays = [
        replace(
            job,
            folders=(folder,),
            parts=(Part(job.value, replace(patch, file=f"{folder}/patch.yaml")),),
        )
        for folder in ("overlays/dev", "overlays/qa")
    ]
    built = source_objects.joined_sources(
        source_objects.SourceObjects((each,)) for each in of_overlays
    )
    assert [each.folders for each in built.documents] == [("overlays/dev",), ("overlays/qa",)]
    report = checked.of(built.documents, "deadline")
    assert [each.place.file for each in report.items] == [
        f"{each}/patch.yaml" for each in ("overlays/dev", "overlays/qa")
    ]


def rendered(text: str, *ways: str) -> list[Document]:
    """Objects of a chart that have come out so in some renderings of it."""
    found = read({"charts/t/templates/a.yaml": text})
    return [replace(each, folders=("charts/t",), renderings=ways) for each in found]


def test_each_rendering_of_a_chart_is_an_environment_of_its_own() -> None:
    small, large = rendered(SMALL, "values-dev.yaml"), rendered(LARGE, "values-prod.yaml")
    job = rendered(DIGITS, "values-dev.yaml", "values-prod.yaml")
    report = checked.of([*small, *large, *job], *FITS, "unique-name")
    (item,) = report.items
    assert (item.rule.id, item.what.rpartition(", in ")[2]) == ("quota-fits", "values-dev.yaml")


def test_a_rendering_goes_with_the_folder_of_its_name() -> None:
    small, large = rendered(SMALL, "values-dev.yaml"), rendered(LARGE, "values-prod.yaml")
    jobs = read({"envs/dev/job.yaml": DIGITS, "envs/prod/job.yaml": DIGITS})
    report = checked.of([*small, *large, *jobs], *FITS)
    assert [each.place.file for each in report.items] == ["envs/dev/job.yaml"]


def test_a_finding_of_several_renderings_is_one_and_names_them() -> None:
    texts = {"own": DIGITS, "dev": DIGITS.replace("digits", "dev"), "prod": JOB.format(name="prod")}
    found = [each for way, text in texts.items() for each in rendered(text, f"{way}.yaml")]
    items = checked.of(found, "deadline").items
    assert [each.what for each in items] == ["is not set"]
    some = [*found, *rendered(SMALL, "eu.yaml")]
    (item,) = checked.of(some, "deadline").items
    assert item.what == "is not set, with own.yaml, dev.yaml, prod.yaml"
    loop = rendered(f"{DIGITS}---\n{JOB.format(name='b')}", "own.yaml")
    assert len(checked.of([*loop, *rendered(DIGITS, "dev.yaml")], "deadline").items) == 2


CONFIGURED = {
    "dev": {"folders": ["clusters/*/dev"], "rules": {"nodes-limit": {"parameters": {"nodes": 2}}}},
    "prod": {"folders": ["clusters/eu/prod"], "rules": {"nodes-limit": {"severity": "low"}}},
}


def test_a_configured_environment_is_judged_by_its_own_settings() -> None:
    files = {
        "clusters/eu/dev/job.yaml": DIGITS,
        "clusters/eu/prod/job.yaml": JOB.format(name="letters"),
        "shared/job.yaml": JOB.format(name="all"),
    }
    settled = checked.by("nodes-limit", environments=CONFIGURED)
    report = check.check_documents(read(files), CheckScope(settled, TODAY))
    assert found(report) == [
        ("nodes-limit", "clusters/eu/dev/job.yaml", ""),
        ("nodes-limit", "shared/job.yaml", "dev"),
    ]


def test_a_configured_folder_is_found_by_whatever_path_the_check_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An absolute path, as CI systems write it, passed by the settings of no environment."""
    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")
    configured = {"dev": ["envs/dev"], "other": ["../envs/dev"]}
    for folder, expected in {
        "envs/dev": {"dev"},
        "./envs/dev/deep": {"dev"},
        f"{tmp_path}/repository/envs/dev": {"dev"},
        f"{tmp_path}/envs/dev": {"other"},
        "envs": set(),
        ".": set(),
    }.items():
        (document,) = read({f"{folder}/job.yaml": DIGITS})
        assert environments.configured_environments(document, configured) == expected


def test_a_configured_environment_whose_folders_have_nothing_is_told() -> None:
    files = {"clusters/eu/dev/job.yaml": DIGITS}
    settled = checked.by("nodes-limit", environments=CONFIGURED)
    report = check.check_documents(read(files), CheckScope(settled, TODAY))
    assert report.notes == {check.EMPTY: "prod: clusters/eu/prod"}


def test_one_environment_that_is_asked_for_has_no_objects_of_another() -> None:
    files = {f"{each}/job.yaml": DIGITS for each in ("dev", "prod", "shared")}
    configured = {"dev": ["dev"], "prod": ["./prod/"]}
    documents = environments.documents_of("prod", read(files), configured)
    assert [each.file for each in documents] == ["prod/job.yaml", "shared/job.yaml"]
    assert environments.documents_of(None, documents, configured) == documents


def test_a_copy_in_another_folder_is_new_and_a_moved_one_is_not(tmp_path: Path) -> None:
    privileged = "metadata: {name: bad, namespace: vision}"
    bad = DIGITS.replace("metadata: {name: digits, namespace: vision", privileged.rstrip("}"))
    before = read({"dev/job.yaml": bad})
    known = marks(before, tmp_path)
    assert known
    copied = {"dev/job.yaml": bad, "qa/job.yaml": bad}
    rules = ("image-digest", "quota-fits", "cpu-memory-set")
    report = of(copied, *rules, baseline=known)
    assert {(each.place.file, each.is_known) for each in report.items} == {
        ("dev/job.yaml", True), ("qa/job.yaml", False),
    }  # fmt: skip
    assert changed_files.reach_of_change(read(copied), before) == {
        0: Reach.AROUND,
        1: Reach.CHANGED,
    }
    moved = {"qa/other.yaml": bad}
    assert all(each.is_known for each in of(moved, *rules, baseline=known).items)
    assert changed_files.reach_of_change(read(moved), before) == {0: Reach.AROUND}


def test_a_baseline_knows_a_folder_by_whatever_path_the_check_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = marks(read({"qa/job.yaml": DIGITS}), tmp_path)
    both = {f"{tmp_path}/dev/job.yaml": DIGITS, f"{tmp_path}/qa/job.yaml": DIGITS}
    report = of(both, "image-digest", "quota-fits", "cpu-memory-set", baseline=known)
    assert {(each.place.file, each.is_known) for each in report.items} == {
        (f"{tmp_path}/dev/job.yaml", False),
        (f"{tmp_path}/qa/job.yaml", True),
    }


def marks(documents: tuple[Document, ...], folder: Path) -> tuple[tuple[str, str], ...]:
    report = checked.of(documents, "image-digest", "quota-fits", "cpu-memory-set")
    file = folder / "baseline.json"
    file.write_text(baseline.baseline_text(report))
    return baseline.read_baseline(file.read_bytes(), str(file))


def test_an_exemption_of_one_environment_is_used_there_alone() -> None:
    exempt = {"rule": "nodes-limit", "owner": "a", "reason": "b", "expires": date(2027, 1, 1)}
    settled = checked.by(
        environments={
            "dev": {**CONFIGURED["dev"], "exemptions": [exempt]},
            "prod": {**CONFIGURED["dev"], "folders": ["prod"], "exemptions": [exempt]},
        }
    )
    files = {"clusters/eu/dev/job.yaml": DIGITS, "prod/job.yaml": DIGITS}
    report = check.check_documents(read(files), CheckScope(settled, TODAY))
    assert [each.excuse is not None for each in report.items if each.rule.id == "nodes-limit"] == [
        True, True,
    ]  # fmt: skip
    assert report.unused == ()
