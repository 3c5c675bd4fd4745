"""One object of an environment -> what the rules find in it, with places, exemptions and edits. Pure.

A finding is placed, known again in another version of the file, and without secrets.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from trainer_infra.api.finding import FieldFinding as OfYaml
from trainer_infra.api.finding import Path, path_text
from trainer_infra.errors import shown
from trainer_infra.review import documents, edits, object_kinds, plain_secret
from trainer_infra.review.documents import Document
from trainer_infra.review.inner_documents import inside_text
from trainer_infra.review.redaction import ReportRedaction
from trainer_infra.review.report import DIGITS, Excuse, Item, Place, UnseenRule, object_name
from trainer_infra.rules import exemption, judge, tree
from trainer_infra.rules.exemption import Exemption, ExemptionBook, ExemptionLimits, State
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.judge import ConfiguredRule, RuleVerdict
from trainer_infra.rules.pack import PackRule
from trainer_infra.rules.pod_security import literal_secrets
from trainer_infra.rules.rendering import REFERENCE
from trainer_infra.rules.shape import schema
from trainer_infra.rules.subject import Subject, subject_of_part
from trainer_infra.rules.supply_chain import images
from trainer_infra.rules.world import World

_SHOWN: Final = 120
"""Characters of a value in a report."""
MOST_LINES: Final = 5
"""Lines of an excerpt."""
OF_FILE: Final = (schema.SCHEMA.id, literal_secrets.RULE.id)
"""Rules that speak for what is wrong with an object because it stands in a file."""
_PATCHES: Final = ("spec", "runtimePatches")
_JSON: Final = json.JSONEncoder(default=str)
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
    of_file: tuple[PackRule, ...]
    """Those that speak for what is wrong with it because it stands in a file."""
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
    """Whether it is as another revision has it."""
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
    for chosen, finding in (*_of_file(document, asked.of_file), *of_rules):
        if _is_filled_in_later(chosen, finding):
            missed.setdefault(finding.path, []).append(chosen)
            continue
        excusing = book.excusing(chosen.rule.id, chosen.severity)
        used.update(filter(None, (excusing,)))
        excuse = _excuse(excusing, asked.today) if excusing else None
        found = item_of(document, subject, (chosen, finding), excuse, asked.hidden)
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
    for chosen in rules:
        if chosen.rule.id == literal_secrets.RULE.id:
            yield from ((chosen, each) for each in plain_secret.plain_secret_findings(document))
            continue
        of_kind = object_kinds.kind_findings(document.value)
        yield from ((chosen, each) for each in (*document.findings(), *of_kind))


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


def item_of(
    document: Document,
    subject: Subject,
    found: tuple[ConfiguredRule, OfYaml],
    excuse: Excuse | None,
    hidden: ReportRedaction,
) -> Item:
    """What a rule says of a document, which rules read as the subject, without what is hidden."""
    chosen, finding = found
    of_rule = finding if isinstance(finding, Finding) else Finding(finding.path, finding.what)
    is_of_runtime = of_rule.inherited or _is_for_runtime(document, finding.path)
    runtime = tree.runtime_reference(document.value) if is_of_runtime else None
    place = place_in_document(document, finding.path)
    is_changed = document.layers and not document.says(finding.path)
    layers = document.layers if is_changed else ()
    if document.values and place.file != document.file:
        # What takes the value.
        layers = (document.file,)
    item = Item(
        rule=chosen.rule,
        severity=chosen.severity,
        kind=subject.kind,
        namespace=subject.namespace,
        name=subject.name,
        path=path_text(finding.path),
        what=finding.what,
        got="" if finding.got is None else shown(hidden.value(finding.got), _SHOWN),
        fix=finding.fix,
        seen_at=of_rule.seen_at,
        runtime=object_name(*runtime) if runtime else "",
        inside=inside_text(document),
        place=place,
        fingerprint=fingerprint(chosen.rule.id, document, finding.path, finding.what),
        folders=document.deployed_from,
        layers=layers,
        edits=edits.edits(document, of_rule.patch),
        excuse=excuse,
    )
    return hidden.item(item)


def _is_for_runtime(document: Document, path: Path) -> bool:
    """Whether what the runtime lacks is told where the object could patch it, and does not."""
    return path == _PATCHES and documents.value_at(document.value, path) is None


def _excuse(found: Exemption, today: date) -> Excuse:
    expired = found.state(today) == State.EXPIRED
    return Excuse(found.owner, found.reason, found.expires, expired)


def place_in_document(document: Document, path: Path) -> Place:
    """Where what stands at a path, or what is nearest above it, is written."""
    text, whole = documents.written_place(document, path)
    if text.source is None and not text.line:
        return Place(text.file)
    line, column = text.place(whole)
    end_line, end_column = text.end(whole)
    excerpt = text.lines[line - 1 : min(end_line, line - 1 + MOST_LINES)]
    return Place(text.file, line, column, end_line, end_column, excerpt or ("",))


def fingerprint(rule: str, document: Document, path: Path, what: str) -> str:
    """16 hex digits by which baselines and SARIF know a finding when its file is edited elsewhere.

    They are of rule, object, place and clause, and of what the object stands in; positions in lists are names
    where they can be.
    """
    value: Mapping[str, Any] = document.value
    named = (("kind",), ("metadata", "namespace"), ("metadata", "name"))
    whose = [documents.value_at(value, each) for each in named]
    if document.outer is not None:
        whose += [fingerprint("", document.outer, document.within, "")]
    place: list[str] = []
    at: Any = value
    for key in path:
        at = documents.value_at(at, (key,))
        name = documents.value_at(at, ("name",)) if isinstance(key, int) else None
        own = key if name is None else name
        place.append(f"[{own}]" if isinstance(key, int) else str(key))
    text = _JSON.encode([rule, whose, place, what])
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
