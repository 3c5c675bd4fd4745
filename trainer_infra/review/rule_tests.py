"""Rules tried on their examples: what `trainer-infra rules test` runs.

A rule must find nothing in a good object, and in the bad one exactly the field in which the two
differ; where it has a patch, nothing is to be found after it. A form is a way to judge:
`plain_findings` here, others by the caller.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from trainer_infra.api.finding import path_text
from trainer_infra.json_values import JSONObject
from trainer_infra.rules import judge, patch, tree, world
from trainer_infra.rules.finding import Finding
from trainer_infra.rules.fixture import Case
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.pool import Pool

Form = Callable[[ConfiguredRule, Sequence[JSONObject], Sequence[Pool]], Sequence[Finding]]
"""A rule, objects and pools -> what the rule finds in the first object."""


@dataclass(frozen=True, slots=True)
class Example:
    """A case of a rule as it is set."""

    chosen: ConfiguredRule
    """The rule, with the parameters of the case."""
    case: Case


@dataclass(frozen=True, slots=True)
class FailedExample:
    """A rule that does not do what its example says."""

    rule: str
    """Its id."""
    case: str
    """Name of the case; empty where there is none."""
    form: str
    """Name of the form; empty where it is not of a form."""
    what: str
    """What is wrong, a clause without a full stop."""

    def sentence(self) -> str:
        """`<rule>: <case> (<form>): <what>`."""
        form = f" ({self.form})" if self.form else ""
        return ": ".join(filter(None, (self.rule, f"{self.case}{form}", self.what)))


def plain_findings(
    chosen: ConfiguredRule, objects: Sequence[JSONObject], pools: Sequence[Pool]
) -> tuple[Finding, ...]:
    """What `trainer-infra check` finds."""
    subjects = tree.subjects_of(objects)
    judged = judge.judge(subjects[0], world.world_of(subjects, pools, is_whole=True), [chosen])
    return tuple(finding for each in judged for finding in each.findings)


FORMS: Final[Mapping[str, Form]] = {"plain": plain_findings}
"""By name."""


def failed_examples(
    examples: Iterable[Example], forms: Mapping[str, Form] = FORMS
) -> Iterator[FailedExample]:
    """What is not as the examples say, in every form."""
    for each in examples:
        for name, form in forms.items():
            try:
                said = tuple(_said(each, form))
            except Exception as error:  # noqa: BLE001  a rule of another package may do anything
                said = (f"raised {type(error).__name__}: {error}",)
            place = (each.chosen.rule.id, each.case.name, name)
            yield from (FailedExample(*place, what) for what in said)


def _said(each: Example, form: Form) -> Iterator[str]:
    good, bad = (each.case.objects(is_good=is_good) for is_good in (True, False))
    for problem in tree.subjects_of(good)[0].problems:
        yield f"the good object does not render: {problem}"
    found = form(each.chosen, good, each.case.pools)
    if found:
        yield f"must find nothing in the good object, found {_told(found)}"
    found = form(each.chosen, bad, each.case.pools)
    if [finding.path for finding in found] != [each.case.bad.path]:
        place = path_text(each.case.bad.path)
        yield f"must find {place} in the bad object and nothing else, found {_told(found)}"
    for finding in found:
        mended = patch.apply_patch(bad[0], finding.patch)
        left = form(each.chosen, (mended, *bad[1:]), each.case.pools) if finding.patch else ()
        if left:
            yield f"its patch must mend the bad object, and leaves {_told(left)}"


def _told(found: Iterable[Finding]) -> str:
    told = (f"{path_text(each.path) or 'the object'} ({each.what})" for each in found)
    return ", ".join(told) or "nothing"
