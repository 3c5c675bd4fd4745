"""What the runtime of many TrainJobs lacks is said once; what stops a deployment, of each."""

from tests.crossguard.train_jobs import said, said_of_stack, servicer, train_job
from trainer_infra.rules.pack import Enforcement, Pack, Selection, Setting

IDS = ("seccomp", "image-digest", "default-service-account")
ADVICE = Pack("advice", selection=Selection(ids=IDS))
STOPS = Setting(enforcement=Enforcement.MANDATORY)
MANDATORY = Pack("mandatory", selection=Selection(ids=()), settings=dict.fromkeys(IDS, STOPS))
FIRST, SECOND = (
    train_job(name, "kubernetes", {"image": f"train:{name}"}) for name in ("first", "second")
)


def rules(found: list[tuple[str, str]]) -> list[str]:
    return [each for each, _ in found]


def test_the_first_train_job_says_what_its_runtime_lacks_whenever_it_is_asked_about() -> None:
    asked = servicer(ADVICE)
    for _ in range(2):
        assert rules(said(asked, FIRST)) == ["image-digest", "seccomp"]
        [(rule, message)] = said(asked, SECOND)
        assert (rule, "got 'train:second'" in message) == ("image-digest", True)


def test_the_next_operation_says_it_anew() -> None:
    asked = servicer(ADVICE)
    assert "seccomp" in rules(said(asked, FIRST))
    said_of_stack(asked, [FIRST])
    assert "seccomp" in rules(said(asked, SECOND))


def test_of_a_stack_it_is_told_how_many_others_there_are() -> None:
    third = train_job("third", "kubernetes")
    [(rule, urn, message)] = said_of_stack(servicer(ADVICE), [FIRST, SECOND, third])
    assert (rule, urn) == ("default-service-account", "urn:first")
    assert message.endswith("(and 2 other TrainJobs on it)")


def test_what_stops_a_deployment_is_said_of_each_train_job() -> None:
    asked = servicer(MANDATORY)
    assert rules(said(asked, FIRST)) == rules(said(asked, SECOND)) == ["image-digest", "seccomp"]
    urns = [urn for _, urn, _ in said_of_stack(asked, [FIRST, SECOND])]
    assert urns == ["urn:first", "urn:second"]
