"""`trainer-infra rules` lists and explains the policy rules, and tries packs on their examples."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.command import Command
from trainer_infra.review import rulebook
from trainer_infra.rules import RULES, fixture
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.rule import AnyRule

BOTH = "each good and bad (plain and CrossGuard)"
OWN = '''\
"""What team vision is held to."""

from owner_label import RULE

from trainer_infra.rules import RULES
from trainer_infra.rules.pack import Pack, Selection, Setting

PACK = Pack(
    name="vision",
    selection=Selection(ids=("image-digest", "nodes-limit", RULE.id)),
    settings={"nodes-limit": Setting(parameters={"nodes": 4})},
    rules=(*RULES, RULE),
)
'''
RULE = '''\
"""owner-label: every object says whose it is."""

from collections.abc import Iterator

from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.rule import Context, Parameters, Rule, whole
from trainer_infra.rules.value import Value


class OwnerLabel(Parameters):
    """Which label."""

    label: str = "owner"
    """Name of the label."""


def check(place: Value, context: Context[OwnerLabel]) -> Iterator[Finding]:
    label = place.at("metadata", "labels", context.parameters.label)
    if not label.text():
        yield label.finding("is not set", None, "write who owns it")


RULE = Rule(
    id="owner-label",
    title="Every TrainJob says whose it is",
    severity=Severity.LOW,
    kinds=frozenset(("TrainJob",)),
    tags=("vision",),
    why="Somebody must be asked.",
    fix="Write the label.",
    places=whole,
    check=check,
    parameters=OwnerLabel,
)
'''
EXAMPLES = """\
cases:
- name: a TrainJob's label
  good:
  - apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    metadata: {name: digits, labels: {owner: vision}}
    spec: {runtimeRef: {name: torch-distributed}}
  bad: {path: [metadata, labels, owner]}
"""
NODES = """\
cases:
- name: as many nodes as this pack allows
  good:
  - apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    metadata: {name: digits}
    spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 4}}
  bad: {path: [spec, trainer, numNodes], value: 5}
"""
OF_TWO = len(fixture.shipped_cases("image-digest")) + len(fixture.shipped_cases("nodes-limit"))


@pytest.fixture
def own(cli: Command) -> Command:
    """A command beside a pack of a user's own."""
    folder = cli.folder / "vision"
    (folder / "fixtures").mkdir(parents=True)
    (folder / "pack.py").write_text(OWN)
    (folder / "owner_label.py").write_text(RULE)
    (folder / "__main__.py").write_text("raise SystemExit('serves CrossGuard forever')\n")
    (folder / "fixtures" / "owner-label.yaml").write_text(EXAMPLES)
    (folder / "fixtures" / "nodes-limit.yaml").write_text(NODES)
    return cli


def ids(table: str) -> list[str]:
    return [line.split()[0] for line in table.splitlines()[1:]]


def test_the_list_has_every_rule_with_what_it_is(shared_cli: Command) -> None:
    done = shared_cli("rules", "list")
    assert done.code == 0
    head, *rows = done.out.splitlines()
    assert head.split() == ["ID", "SEVERITY", "TAGS", "TITLE", "KINDS"]
    assert [row.split()[:3] for row in rows] == [
        [rule.id, rule.severity, ",".join(rule.tags)] for rule in RULES
    ]
    assert all(rule.title in row for rule, row in zip(RULES, rows, strict=True))


def test_filters_go_together_and_a_list_of_values_is_any_of_them(shared_cli: Command) -> None:
    done = shared_cli("rules", "list", "--severity", "high", "--tag", "images", "--tag", "secrets")
    wanted = [
        rule.id
        for rule in RULES
        if {"images", "secrets"} & {*rule.tags} and rule.severity.is_at_least(Severity.HIGH)
    ]
    assert ids(done.out) == wanted
    restricted = shared_cli("rules", "list", "--framework", "pod-security-standards/restricted")
    assert ids(restricted.out) == [
        rule.id for rule in RULES if "pod-security-standards/restricted" in rule.frameworks
    ]
    nothing = shared_cli("rules", "list", "--tag", "nothing")
    assert (nothing.code, nothing.err) == (0, "no rule is all that the options ask for\n")


def test_a_pack_says_how_its_rules_are_enforced(shared_cli: Command) -> None:
    listed = shared_cli("rules", "list", "--pack", "cost", "-o", "json").out
    rules = {each["id"]: each for each in json.loads(listed)["rules"]}
    assert [*rules] == [rule.id for rule in RULES if {"capacity", "cost"} & {*rule.tags}]
    (price,) = (rule for rule in RULES if rule.id == "price")
    assert rules["price"] == {
        "id": "price",
        "title": price.title,
        "severity": "medium",
        "enforcement": "advisory",
        "tags": [*price.tags],
        "frameworks": [*price.frameworks],
        "kinds": sorted(price.kinds),
        "why": price.why,
        "fix": price.fix,
        "remediates": False,
        "parameters": {"prices": {}, "budget": None, "currency": "USD"},
    }


def test_a_rule_is_explained_with_its_parameters_and_an_example(own: Command) -> None:
    assert own("rules", "explain", "owner-label", "--pack", "vision").out == (
        "owner-label: Every TrainJob says whose it is\n"
        "\n"
        "severity     low\n"
        "enforcement  advisory\n"
        "kinds        TrainJob\n"
        "tags         vision\n"
        "\n"
        "Why: Somebody must be asked.\n"
        "Fix: Write the label.\n"
        "\n"
        "Parameters:\n"
        "  label: string, owner\n"
        "      Name of the label.\n"
        "\n"
        "Example, a TrainJob's label; - is bad, + is good:\n"
        "\n"
        "    apiVersion: trainer.kubeflow.org/v1alpha1\n"
        "    kind: TrainJob\n"
        "    metadata:\n"
        "      name: digits\n"
        "  -   labels: {}\n"
        "  +   labels:\n"
        "  +     owner: vision\n"
        "    spec:\n"
        "      runtimeRef: {name: torch-distributed}\n"
    )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_example_shows_what_is_bad_and_what_is_good(rule: AnyRule) -> None:
    for case in fixture.shipped_cases(rule.id):
        lines = [*rulebook.example_lines(case)]
        objects = {
            is_good: [*yaml.load_all(_side(lines, is_good=is_good), Loader=yaml.CSafeLoader)]
            for is_good in (True, False)
        }
        assert objects == {is_good: [*case.objects(is_good=is_good)] for is_good in (True, False)}


def _side(lines: list[str], *, is_good: bool) -> str:
    left_out = rulebook.BAD if is_good else rulebook.GOOD
    return "\n".join(line[2:] for line in lines if not line.startswith(left_out))


def test_an_unknown_rule_is_told_with_those_like_it(shared_cli: Command) -> None:
    done = shared_cli("rules", "explain", "image")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "is not a rule, got 'image'; did you mean image-present or image-name or image-digest? "
        "`trainer-infra rules list` lists all\n"
    )


def test_our_packs_are_as_their_examples_say(shared_cli: Command) -> None:
    cases = sum(len(fixture.shipped_cases(rule.id)) for rule in RULES)
    done = shared_cli("rules", "test", "training")
    assert done.code == 0
    assert done.out == (
        f"training: {len(RULES)} rules on {cases} examples, {BOTH}: all is as it should be\n"
    )


def test_a_pack_that_is_not_there_is_told(shared_cli: Command) -> None:
    done = shared_cli("rules", "test", "trainig")
    told = "pack: is not a pack, got 'trainig'; use training or restricted or cost\n"
    assert (done.code, done.out, done.err) == (1, "", told)


def test_a_pack_of_a_users_own_is_listed_explained_and_tried(own: Command) -> None:
    listed = own("rules", "list", "--pack", "vision")
    assert ids(listed.out) == ["image-digest", "nodes-limit", "owner-label"]
    limit = own("rules", "explain", "nodes-limit", "--pack", "vision").out
    assert "  nodes: whole number, 4\n" in limit
    assert "Example, as many nodes as this pack allows" in limit
    done = own("rules", "test", "vision")
    assert (done.code, done.out) == (
        0,
        f"vision: 3 rules on {OF_TWO + 2} examples, {BOTH}: all is as it should be\n",
    )


def test_what_a_users_rule_does_wrong_is_told(own: Command) -> None:
    module = own.folder / "vision" / "owner_label.py"
    module.write_text(RULE.replace("if not label.text():", "if place.at('spec').is_there():"))
    done = own("rules", "test", "vision")
    assert (done.code, done.out.splitlines()) == (
        1,
        [
            *(
                f"owner-label: a TrainJob's label ({form}): must find nothing in the good object, "
                "found metadata.labels.owner (is not set)"
                for form in ("plain", "CrossGuard")
            ),
            f"vision: 3 rules on {OF_TWO + 2} examples, {BOTH}: 2 failures",
        ],
    )
    module.write_text(RULE.replace("if not label.text():", "if False:"))
    assert own("rules", "test", "vision").out.splitlines()[0] == (
        "owner-label: a TrainJob's label (plain): must find metadata.labels.owner in the bad "
        "object and nothing else, found nothing"
    )
    module.write_text(RULE.replace("label.text()", "label.words()"))
    assert own("rules", "test", "vision").out.splitlines()[0] == (
        "owner-label: a TrainJob's label (plain): raised AttributeError: "
        "'Value' object has no attribute 'words'"
    )


def test_examples_that_are_missing_or_of_no_rule_are_told(own: Command) -> None:
    fixtures = own.folder / "vision" / "fixtures"
    (fixtures / "owner-label.yaml").rename(fixtures / "owners-label.yaml")
    done = own("rules", "test", "vision")
    assert (done.code, done.out.splitlines()[:2]) == (
        1,
        [
            "owner-label: has no examples; write fixtures/owner-label.yaml",
            "owners-label: fixtures has examples of a rule that pack vision does not apply",
        ],
    )


BROKEN = {
    "pack.py": (
        ("x = 1\n", "vision/pack.py: PACK: must be a Pack; write `PACK = Pack(...)`"),
        (
            "import nowhere\n",
            ("vision/pack.py: cannot be imported: ModuleNotFoundError: No module named 'nowhere'"),
        ),
        (None, "vision/pack.py: is not there; write pack.py with `PACK = Pack(...)`, or name"),
    ),
    "fixtures/owner-label.yaml": (
        ("cases: []\n", "vision/fixtures/owner-label.yaml: "),
        ("cases: [\n", "vision/fixtures/owner-label.yaml: is not YAML: "),
        ("- 1\n", "vision/fixtures/owner-label.yaml: must have `cases`, got [1]"),
        (
            EXAMPLES.replace("bad:", "bed:"),
            "vision/fixtures/owner-label.yaml: cases[0].bad: is required",
        ),
    ),
}


@pytest.mark.parametrize(
    ("file", "text", "told"), [(file, *each) for file, texts in BROKEN.items() for each in texts]
)
def test_a_pack_that_cannot_be_read_is_one_sentence(
    own: Command, file: str, text: str | None, told: str
) -> None:
    path: Path = own.folder / "vision" / file
    path.unlink() if text is None else path.write_text(text)
    done = own("rules", "test", "vision")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0].startswith(told)
    assert "Traceback" not in done.err
