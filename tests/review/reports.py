"""Reports to make text of: one with all that a report can have, hostile ones, and any at all."""

from dataclasses import replace
from datetime import date

from hypothesis import strategies as st

from trainer_infra.review.inventory import SourceFile, Use
from trainer_infra.review.report import Edit, Excuse, Item, Place, Report, UnseenRule
from trainer_infra.rules import pods
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.rule import AnyRule, Rule


def rule(
    id_: str = "image-digest",
    severity: Severity = Severity.MEDIUM,
    tags: tuple[str, ...] = ("supply-chain", "images"),
) -> AnyRule:
    return Rule(
        id=id_,
        title="Images must be pinned by digest",
        severity=severity,
        kinds=frozenset({"TrainJob", "JobSet"}),
        tags=tags,
        why="A tag can be moved.",
        fix="Write the image as `name@sha256:…`.",
        places=pods.containers,
        check=lambda _place, _context: (),
        frameworks=("nist-800-190/4.1.5",),
    )


DIGEST = rule()
LIMITS = rule("gpu-limits", Severity.HIGH, ("capacity", "gpu"))
SECRET = rule("secret-in-env", Severity.CRITICAL, ("data", "secrets"))

ACTIVE = Excuse("team-a", "the vendor pins it", date(2027, 1, 31), is_expired=False)
EXPIRED = Excuse("team-b", "until the move", date(2026, 1, 31), is_expired=True)


def item(
    broken: AnyRule = DIGEST,
    *,
    name: str = "tj",
    got: str = "'acme/train:1'",
    what: str = "is not pinned by a digest",
    place: Place | None = None,
    excuse: Excuse | None = None,
    is_known: bool = False,
    edits: tuple[Edit, ...] = (),
) -> Item:
    return Item(
        rule=broken,
        severity=broken.severity,
        kind="TrainJob",
        namespace="team-a",
        name=name,
        path="spec.trainer.image",
        what=what,
        got=got,
        fix="name it by its digest",
        seen_at="JobSet tj: spec.replicatedJobs[0]",
        place=place or Place("jobs/tj.yaml", 7, 12, 7, 24, ("    image: acme/train:1",)),
        fingerprint="0123456789abcdef",
        edits=edits,
        excuse=excuse,
        is_known=is_known,
    )


EDIT = Edit("jobs/tj.yaml", (9, 1), (9, 1), "      limits: {}\n")
FULL = Report(
    items=(
        item(SECRET, place=Place("cluster/TrainJob team-a/tj")),
        item(excuse=ACTIVE),
        item(LIMITS, excuse=EXPIRED, edits=(EDIT,)),
        item(name="other", is_known=True),
        replace(
            item(
                LIMITS, name="third", place=Place("jobs/ä b#1.yaml", 3, 1, 4, 9, ("a: 1", "b: 2"))
            ),
            layers=("base/kustomization.yaml", "dev/kustomization.yaml"),
            inside="AppWrapper team-a/w: spec.components[0].template",
        ),
        item(name="fourth", place=Place("jobs/ä b#1.yaml", 12, 9, 12, 12, ("  env: 日本: x", "y"))),
    ),
    rules=(DIGEST, LIMITS, SECRET),
    objects=9,
    files=("jobs/clean.yaml", "jobs/tj.yaml", "jobs/ä b#1.yaml"),
    problems=("jobs/bad.yaml:3:1: is not YAML",),
    unused=("exemption of gpu-limits for old-*: excuses nothing",),
    unseen=(
        UnseenRule(
            "TrainJob", "team-a", "tj", "spec.trainer.image", ("image-digest", "image-registry")
        ),
    ),
    baseline="known.json",
    notes={"Cost": "12.50 $/h\nbefore: 10.00 $/h"},
    inventory=(
        SourceFile("jobs/tj.yaml", Use.JUDGED),
        SourceFile("jobs/base.yaml", Use.BUILT, "jobs"),
        SourceFile(".ci", Use.PASSED_OVER, "a hidden folder, which is not read"),
        SourceFile("jobs/bad.yaml", Use.UNREAD),
    ),
)
CLEAN = Report(items=(), rules=(DIGEST,), objects=2, files=("jobs/tj.yaml",))

HOSTILE = (
    "a|b",
    "line\nbreak\r\nand\rmore",
    "]]>",
    "::error::owned",
    "::stop-commands::x",
    "##[error]owned",
    "\x1b[31mred\x1b[0m\x07\x00\x08",
    "👩‍🚀🏴 ﷽",
    "x" * 20_000,
    "`code` ```fence``` **bold** _it_ [link](https://example.com) ![i](x)",
    "<script>alert(1)</script><!-- & -->&amp;",
    "</td></tr></table>",
    "@everyone #1",
    "%0A%0D,:%",
    "\u202egnp.exe\u2028\u2029\x85\ufeff\u200b",
    "\ufffe\uffff\U0010ffff",
    "\ud800 alone",
    "{0} {{1}}",
    "/absolute//path/../x",
    "c:\\windows",
    "",
    " ",
    "\t",
    "- list\n# head\n| a |\n---",
    "trailing\\",
    "\"quoted\" 'single'",
)


def hostile(words: str) -> Report:
    """The words everywhere that a user can write."""
    place = Place(words, 2, 3, 2, 9, (words, words))
    edit = Edit(words, (2, 3), (2, 9), words)
    excuse = Excuse(words, words, date(2027, 1, 31), is_expired=True)
    bad = Item(
        rule=LIMITS,
        severity=Severity.HIGH,
        kind=words,
        namespace=words,
        name=words,
        path=words,
        what=words,
        got=words,
        fix=words,
        seen_at=words,
        place=place,
        fingerprint="0123456789abcdef",
        layers=(words,),
        inside=words,
        edits=(edit,),
        excuse=excuse,
    )
    return Report(
        items=(bad,),
        rules=(LIMITS,),
        objects=1,
        files=(words,),
        problems=(words,),
        unused=(words,),
        unseen=(UnseenRule(words, words, words, words, ("gpu-limits",)),),
        notes={words: words},
        inventory=(SourceFile(words, Use.PASSED_OVER, words),),
    )


texts = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=()), max_size=12)
numbers = st.integers(1, 50)
places = st.builds(Place, file=texts) | st.builds(
    Place,
    file=texts,
    line=numbers,
    column=numbers,
    end_line=numbers,
    end_column=numbers,
    excerpt=st.lists(texts, max_size=5).map(tuple),
)
positions = st.tuples(numbers, numbers)
edits = st.builds(Edit, file=texts, start=positions, end=positions, text=texts)
excuses = st.builds(Excuse, owner=texts, reason=texts, expires=st.dates(), is_expired=st.booleans())
items = st.builds(
    Item,
    rule=st.sampled_from((DIGEST, LIMITS, SECRET)),
    severity=st.sampled_from(Severity),
    kind=texts,
    namespace=texts,
    name=texts,
    path=texts,
    what=texts,
    got=texts,
    fix=texts,
    seen_at=texts,
    place=places,
    fingerprint=st.just("0123456789abcdef"),
    layers=st.lists(texts, max_size=2).map(tuple),
    inside=texts,
    edits=st.lists(edits, max_size=2).map(tuple),
    excuse=st.none() | excuses,
    is_known=st.booleans(),
)
reports = st.builds(
    Report,
    items=st.lists(items, max_size=4).map(tuple),
    rules=st.just((DIGEST, LIMITS)),
    objects=st.integers(0, 9),
    files=st.lists(texts, max_size=3, unique=True).map(tuple),
    problems=st.lists(texts, max_size=2).map(tuple),
    unused=st.lists(texts, max_size=2).map(tuple),
    unseen=st.lists(
        st.builds(
            UnseenRule,
            kind=texts,
            namespace=texts,
            name=texts,
            path=texts,
            rules=st.just(("gpu-limits",)),
        ),
        max_size=2,
    ).map(tuple),
    baseline=texts,
    fail_on=st.sampled_from(Severity),
    notes=st.dictionaries(texts, texts, max_size=2),
    inventory=st.lists(
        st.builds(SourceFile, path=texts, use=st.sampled_from(Use), why=texts), max_size=2
    ).map(tuple),
)
