"""What several formats say of a report, in the same words, and text of users as people may safely be shown it.

A name in a pull request may hold anything: what would steer a terminal, hide other text, or be taken
for a command of a CI runner is shown as an escape. Pure.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra.review import inventory
from trainer_infra.review import report as reports
from trainer_infra.review.report import Item, Place, Report, UnseenRule
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.rule import EVERY_KIND, EVERY_POD

EXPIRED: Final = "EXEMPTION EXPIRED"
NAMED: Final = 20
"""Objects that are named of findings that are alike."""
MOST_RULES: Final = 5
"""Rules that are named of those that could not see a value."""
_JOINERS: Final = "\u200c\u200d"
"""Not printable by themselves, but part of words and of emoji."""
_OLD_COMMAND: Final = "##["
"""Starts a command anywhere in a line of a GitHub runner's log."""


def verdict(report: Report) -> str:
    """What came of the check, a sentence without a full stop."""
    failing, blind = len(report.failing()), len(report.blind())
    worse = "critical" if report.fail_on == Severity.CRITICAL else f"{report.fail_on} or worse"
    bad = f"{count_text(failing, 'finding')} {'is' if failing == 1 else 'are'} {worse}"
    if reports.NOTHING in report.problems:
        return f"The check is not complete: {reports.NOTHING}"
    if report.problems:
        unread = f"{count_text(len(report.problems), 'thing')} could not be read"
        return f"The check is not complete: {unread}{f', and {bad}' if failing else ''}"
    unseen = f"rules of security could not see {count_text(blind, 'place')}"
    why = " and ".join([*([bad] if failing else []), *([unseen] if blind else [])])
    if why:
        return f"The check failed: {why}"
    if report.objects > sum(report.unjudged.values()):
        return "The check passed"
    nothing = "no object has changed" if report.unchanged else "there is no object"
    what = "no rule is for objects of these kinds" if report.objects else nothing
    return f"The check judged nothing: {what}"


def count_by_severity(report: Report) -> Mapping[Severity, int]:
    """How many findings count, by severity, the worst first."""
    return {
        severity: sum(each.counts and each.severity == severity for each in report.items)
        for severity in reversed(Severity)
    }


def tally(report: Report) -> str:
    """`1 critical, 0 high, 2 medium, 0 low; 1 exempt, 1 with an expired exemption, 3 known`."""
    counts = count_by_severity(report)
    found = ", ".join(f"{count} {severity}" for severity, count in counts.items())
    excuses = [each.excuse for each in report.items if each.excuse is not None]
    others = {
        "exempt": sum(not each.is_expired for each in excuses),
        "with an expired exemption": sum(each.is_expired for each in excuses),
        "known by the baseline": sum(each.is_known for each in report.items),
    }
    told = ", ".join(f"{count} {what}" for what, count in others.items() if count)
    return f"{found}; {told}" if told else found


def scope(report: Report) -> str:
    """`12 objects of 3 files judged by 40 rules`, or `10 judged by 40 rules, 2 by 24 rules for every kind: Spark`.

    Of a change also how many objects did not change.
    """
    return "; ".join((_changed_scope(report), *_unchanged_scope(report)))


def _unchanged_scope(report: Report) -> Iterator[str]:
    if report.unchanged:
        looking = count_text(sum(each.looks_around for each in report.rules), "rule")
        yield f"{count_text(report.unchanged, 'unchanged object')} by the {looking} that look at others"


def _changed_scope(report: Report) -> str:
    objects = f"{count_text(report.objects, 'object')} of {count_text(len(report.files), 'file')}"
    rules = count_text(len(report.rules), "rule")
    unjudged = sum(report.unjudged.values())
    others = inventory.counted_text(report.inventory)
    if not unjudged:
        return f"{objects} judged by {rules}{others}"
    kinds = ", ".join(one_line(each) or "no kind" for each in report.unjudged)
    general = sum(not each.kinds.isdisjoint((EVERY_KIND, EVERY_POD)) for each in report.rules)
    by = f"{count_text(general, 'rule')} for every kind" if general else "none"
    return f"{objects}: {report.objects - unjudged} judged by {rules}, {unjudged} by {by}: {kinds}{others}"


def remarks(item: Item) -> Iterator[str]:
    """Why a finding does not count, or counts again."""
    if item.excuse is not None:
        state = f"{EXPIRED} on" if item.excuse.is_expired else "exempt until"
        owner, reason = one_line(item.excuse.owner), one_line(item.excuse.reason)
        yield f"{state} {item.excuse.expires}, {owner} answers for it: {reason}"
    if item.is_known:
        yield "known by the baseline"
    if item.is_unchanged:
        yield "the object has not changed: a change of others made it so"


def clause(item: Item) -> str:
    """The finding on one line, without what to do about it."""
    return one_line(item.clause())


def details(item: Item) -> Iterator[str]:
    """What belongs to the clause, a line each: what to do about it, where it was seen, what changed it."""
    if item.fix:
        yield f"Fix: {one_line(item.fix)}"
    yield from inside(item)
    if item.seen_at:
        yield f"Seen at {one_line(item.seen_at)}"
    yield from changed_by(item)


def inside(item: Item) -> Iterator[str]:
    """What the object stands in, and where, if in anything."""
    if item.inside:
        yield f"Inside {one_line(item.inside)}"


def changed_by(item: Item) -> Iterator[str]:
    """The layers that changed what is found, if any."""
    if item.layers:
        yield f"Changed by {one_line(', '.join(item.layers))}"


def place_text(place: Place) -> str:
    """`a.yaml:3`; without a line where there is no text."""
    return f"{place.file}:{place.line}" if place.line else place.file


def object_on_line(item: Item | UnseenRule) -> str:
    """`TrainJob team-a/tj`: the object on one line."""
    return one_line(reports.object_name(item.kind, item.namespace, item.name))


def blind_text(unseen: UnseenRule, report: Report) -> str:
    """`TrainJob team-a/tj: spec.trainer.image: image-digest, image-registry`; how many of many."""
    rules = ", ".join(unseen.rules)
    if len(unseen.rules) > MOST_RULES:
        groups = {each.id: each.tags[0] for each in report.rules}
        counts = Counter(groups.get(each, "other") for each in unseen.rules)
        of = ", ".join(f"{count} of {group}" for group, count in counts.items())
        rules = f"{len(unseen.rules)} rules, {of}"
    where = (object_on_line(unseen), one_line(unseen.path))
    return ": ".join(filter(None, (*where, rules)))


def count_text(count: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def one_line(text: str) -> str:
    r"""The text on one line; characters that cannot be printed as `\n`, `\x1b`, `\u202e`."""
    shown = text if text.isprintable() else "".join(map(_character, text))
    return shown.replace(_OLD_COMMAND, "##\\x5b")


def cut_line(text: str, limit: int) -> str:
    """The text on one line, at most so many characters and an ellipsis."""
    shown = one_line(text)
    return shown if len(shown) <= limit else f"{shown[:limit]}…"


def _character(each: str) -> str:
    if each.isprintable() or each in _JOINERS:
        return each
    return each.encode("unicode_escape").decode("ascii")
