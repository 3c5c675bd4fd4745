"""What a person at a terminal sees."""

from dataclasses import replace

import pytest

from tests.review import checked
from tests.review.reports import CLEAN, EXPIRED, LIMITS, item
from trainer_infra.review import text
from trainer_infra.review.report import Place


def excerpt(place: Place) -> list[str]:
    made = text.report_text(replace(CLEAN, items=(item(place=place),)), colour=False)
    return [line for line in made.splitlines() if " | " in line]


def test_a_clean_report_is_three_lines() -> None:
    assert text.report_text(CLEAN, colour=False) == (
        "2 objects of 1 file judged by 1 rule\n"
        "0 critical, 0 high, 0 medium, 0 low\n"
        "The check passed.\n"
    )


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (
            Place("f", 9, 5, 9, 6, ("a:  b", "c")),
            ["     9 | a:  b", "       |     ^", "    10 | c"],
        ),
        (
            Place("f", 1, 7, 1, 9, ("日本: 'é'",)),
            ["    1 | 日本: 'é'", "      |         ^"],
        ),
        (
            Place("f", 1, 4, 1, 5, ("a: \x1bb",)),
            ["    1 | a: \\x1bb", "      |    ^^^^"],
        ),
        (
            Place("f", 1, 4, 3, 2, ("a: {", "  b: c", "}")),
            ["    1 | a: {", "      |    ^", "    2 |   b: c", "    3 | }"],
        ),
        (
            Place("f", 1, 101, 1, 103, ("x" * 100 + "yy" + "z" * 100,)),
            [
                f"    1 | …{'x' * 40}yy{'z' * 78}…",
                f"      |  {' ' * 40}^^",
            ],
        ),
        (Place("f", 1, 40, 1, 41, ("short",)), ["    1 | short", "      |      ^"]),
    ],
    ids=["two lines", "wide", "escape", "many lines", "long", "behind the end"],
)
def test_the_marker_stands_below_the_value(place: Place, shown: list[str]) -> None:
    assert excerpt(place) == shown


def test_an_expired_exemption_is_loud() -> None:
    report = replace(CLEAN, items=(item(LIMITS, excuse=EXPIRED),))
    loud = "EXEMPTION EXPIRED on 2026-01-31, team-b answers for it: until the move"
    assert f"\n    {loud}\n" in text.report_text(report, colour=False)
    assert f"\n    \x1b[1;37;41m{loud}\x1b[0m\n" in text.report_text(report, colour=True)


def test_what_many_have_from_one_runtime_is_told_once() -> None:
    """Exempt ones, and those of another runtime, are told by themselves."""
    torch, jax = "torch-distributed", "jax-distributed"
    excuse = "{exempt.trainer-infra.dev/seccomp: '{owner: a, reason: b, expires: 2027-01-01}'}"
    jobs = [job(f"t{index}", torch) for index in range(6)]
    jobs += [job("x", torch, excuse), job("j", jax)]
    report = checked.of_text("---\n".join(jobs), "seccomp")
    assert [each.runtime.split()[-1] for each in report.items] == [*(torch,) * 7, jax]
    lines = text.report_text(report, colour=False).splitlines()
    assert sum(" seccomp: " in each for each in lines) == 3
    (same,) = (each.strip() for each in lines if "The same" in each)
    places = ", ".join(f"TrainJob t{at} at a.yaml:{5 + 6 * at}" for at in range(1, 6))
    assert same == f"The same of 5 more on ClusterTrainingRuntime {torch}: {places}"


def job(name: str, runtime: str, annotations: str = "{}") -> str:
    return f"""\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}, annotations: {annotations}}}
spec:
  runtimeRef: {{name: {runtime}}}
"""


def test_a_long_sentence_is_cut() -> None:
    report = replace(CLEAN, items=(item(got="x" * 9_000),))
    assert max(map(len, text.report_text(report, colour=False).splitlines())) < 1_100
