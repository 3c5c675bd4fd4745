"""One object of an environment -> what the rules find in it, with places, exemptions and edits. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from trainer_infra.api.finding import FieldFinding as OfYaml
from trainer_infra.api.finding import Path, path_text
from trainer_infra.review import object_kinds, plain_secret, report_item
from trainer_infra.review.documents import Document
from trainer_infra.review.redaction import ReportRedaction
from trainer_infra.review.report import Item, UnseenRule
from trainer_infra.rules import exemption, judge
from trainer_infra.rules.exemption import Exemption, ExemptionBook, ExemptionLimits, State
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.judge import ConfiguredRule, RuleVerdict
from trainer_infra.rules.pack import PackRule
from trainer_infra.rules.pod_security import literal_secrets
from trainer_infra.rules.rendering import REFERENCE
from trainer_infra.rules.shape import schema
from trainer_infra.rules.subject import Subject, subject_of_part
from trainer_infra.rules.supply_chain import images
from trainer_infra.rules.world import World

_NAME: Final = ("metadata", "name")
_SECURITY: Final = ("pod-security", "supply-chain")
"""Groups of rules without which a check does not pass."""
_FORMS: Final = ("shape", "admission")
"""Groups of rules about the form of values."""
_PLAIN: Final = frozenset(
    (
        *("name", "namespace", "image", "limits", "requests", "nominalQuota", "storage"),
        *("numNodes", "numProcPerNode", "replicas", "parallelism", "completions", "backoffLimit"),
    )
)
"""Fields, or those above them, whose values people have filled in."""
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_]\w*([:=?+-].*)?\}|^\$[A-Za-z_]\w*$")


@dataclass(frozen=True, slots=True)
class ObjectScope:
    """What an object is judged by, and how much is told of it."""

    rules: tuple[PackRule, ...]
    around: World
    exemptions: tuple[Exemption, ...]
    """Those of the policy."""
    limits: ExemptionLimits
    today: date
    """The day that exemptions are judged on."""
    fail_on: Severity
    """Severity from which on a finding fails the check."""
    hidden: ReportRedaction
    is_unchanged: bool
    """Whether it is as another revision has it: what its file alone says is not told."""
    has_unseen: bool
    """Whether it is told what rules could not see."""


@dataclass(frozen=True, slots=True)
class ObjectFindings:
    """What was found in one object."""

    items: tuple[Item, ...]
    unseen: tuple[UnseenRule, ...]
    used: frozenset[Exemption]
    problems: tuple[str, ...]


def object_findings(document: Document, subject: Subject, asked: ObjectScope) -> ObjectFindings:
    """What the rules find in the object of a document, which they read as the subject."""
    own = exemption.annotated_exemptions(subject)
    annotated = (*own.exemptions, *_annotated_around(document))
    book = ExemptionBook(subject, annotated, asked.exemptions, asked.limits, asked.today)
    judged = tuple(judge.judge(subject, asked.around, asked.rules, asked.today))
    used: set[Exemption] = set()
    items = []
    missed = _missed(judged, is_inner=document.outer is not None)
    of_rules = ((verdict.chosen, each) for verdict in judged for each in verdict.findings)
    of_file = () if asked.is_unchanged else _of_file(document, asked.rules)
    for chosen, finding in (*of_file, *of_rules):
        if _is_filled_in_later(chosen, finding):
            missed.setdefault(finding.path, []).append(chosen)
            continue
        excusing = book.excusing(chosen.rule.id, chosen.severity)
        used.update(filter(None, (excusing,)))
        excuse = report_item.excuse_of(excusing, asked.today) if excusing else None
        found = report_item.item_of(document, subject, (chosen, finding), excuse, asked.hidden)
        items.append(replace(found, is_unchanged=True) if asked.is_unchanged else found)
    unseen = _unseen(subject, missed, book, asked) if asked.has_unseen else ()
    problems = () if asked.is_unchanged else own.problems
    return ObjectFindings(
        tuple(items),
        tuple(map(asked.hidden.unseen, unseen)),
        frozenset(used),
        tuple(f"{document.file}: {asked.hidden.problem(each)}" for each in problems),
    )


def _annotated_around(document: Document) -> Iterator[Exemption]:
    """Exemptions in the annotations of what an object stands in: who writes that writes this."""
    if document.outer is not None:
        around = subject_of_part(document.outer.value)
        yield from exemption.annotated_exemptions(around).exemptions
        yield from _annotated_around(document.outer)


def _of_file(
    document: Document, rules: Iterable[PackRule]
) -> Iterator[tuple[ConfiguredRule, OfYaml]]:
    """What is wrong with it because it stands in a file, which two of the rules speak for."""
    for chosen in rules:
        if chosen.rule.id == schema.SCHEMA.id:
            of_kind = object_kinds.kind_findings(document.value)
            yield from ((chosen, each) for each in (*document.findings(), *of_kind))
        elif chosen.rule.id == literal_secrets.RULE.id:
            yield from ((chosen, each) for each in plain_secret.plain_secret_findings(document))


def _is_filled_in_later(chosen: ConfiguredRule, finding: OfYaml) -> bool:
    """Whether the form of a value is wrong because envsubst or Flux is to write it: `${IMAGE}`, `$NODES`.

    What decides over rights is not let pass as `${PRIVILEGED}`.
    """
    is_of_form = chosen.rule.tags[0] in _FORMS or chosen.rule.id == images.IMAGE_NAME.id
    is_plain = bool(_PLAIN.intersection(map(str, finding.path[-2:])))
    is_variable = isinstance(finding.got, str) and _VARIABLE.search(finding.got)
    return bool(is_of_form and is_plain and is_variable)


def _missed(judged: Iterable[RuleVerdict], *, is_inner: bool) -> dict[Path, list[ConfiguredRule]]:
    """What rules could not see, by path. What an object stands in is searched for secrets as it is written, and names it."""
    missed: dict[Path, list[ConfiguredRule]] = {}
    for one in judged:
        for path in one.unseen:
            if not (is_inner and (path == _NAME or one.chosen.rule is literal_secrets.RULE)):
                missed.setdefault(path, []).append(one.chosen)
    return missed


def _unseen(
    subject: Subject,
    missed: Mapping[Path, Sequence[ConfiguredRule]],
    book: ExemptionBook,
    asked: ObjectScope,
) -> Iterator[UnseenRule]:
    for path, rules in missed.items():
        # Whether a runtime that is not at hand may be so says runtime-exists.
        fails = path in subject.left_out and path != REFERENCE
        fails = fails and any(
            each.rule.tags[0] in _SECURITY
            and each.severity.is_at_least(asked.fail_on)
            and not _is_excused(each, book)
            for each in rules
        )
        ids = tuple(each.rule.id for each in rules)
        whose = (subject.kind, subject.namespace, subject.name)
        yield UnseenRule(*whose, path_text(path), ids, fails)


def _is_excused(chosen: ConfiguredRule, book: ExemptionBook) -> bool:
    found = book.excusing(chosen.rule.id, chosen.severity)
    return found is not None and found.state(book.today) != State.EXPIRED
