"""Work in processes of their own: the same results in the same order, and one clear error."""

import os
import signal
from dataclasses import dataclass

import pytest

from tests.review import checked
from trainer_infra.errors import NotAvailable
from trainer_infra.review import check, documents, processes

COUNT = 3 * processes.SHARE + 1
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: job-{index}
  annotations:
    exempt.trainer-infra.dev/ttl: '{{owner: a, reason: b{index}, expires: 2027-01-01}}'
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer: {{image: "a/b:latest", env: [{{name: KEY, value: {value}}}]}}
"""


@dataclass(frozen=True)
class Unsendable:
    """Something that pickle cannot take."""

    call: object = lambda: None


def test_the_results_are_in_order_and_made_elsewhere() -> None:
    found = tuple(processes.spread_work(lambda number: (number, os.getpid()), COUNT, ()))
    assert [number for number, _ in found] == list(range(COUNT))
    assert os.getpid() not in {process for _, process in found}


def test_what_all_processes_have_need_not_be_sendable() -> None:
    known = [Unsendable(), Unsendable()]
    found = tuple(processes.spread_work(lambda number: [known[number % 2]], COUNT, known))
    assert all(each[0] is known[number % 2] for number, each in enumerate(found))


def test_nothing_to_do_is_no_error() -> None:
    assert tuple(processes.spread_work(lambda number: number, 0, ())) == ()


def test_an_exception_of_the_work_is_raised() -> None:
    def work(number: int) -> float:
        return 1 / (COUNT - 1 - number)

    with pytest.raises(ZeroDivisionError):
        tuple(processes.spread_work(work, COUNT, ()))


def test_a_process_that_the_system_ends_is_told() -> None:
    def work(number: int) -> int:
        if number == COUNT - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(NotAvailable, match="ended a process of the check"):
        tuple(processes.spread_work(work, COUNT, ()))


def test_a_check_says_the_same_in_one_process_and_in_many() -> None:
    """Findings with secrets, edits and exemptions among them."""
    values = ("plain", "ghp_" + "a1B2" * 9)
    texts = [JOB.format(index=index, value=values[index % 2]) for index in range(COUNT)]
    read = tuple(
        each
        for index, text in enumerate(texts)
        for each in documents.read_documents(text, f"job-{index}.yaml")
    )
    asked = check.CheckScope(checked.by(), checked.TODAY)
    report = check.check_documents(read, asked, processes.spread_work)
    assert report == check.check_documents(read, asked)
    assert {each.rule.id for each in report.items} >= {"literal-secrets", "ttl", "image-latest"}
    assert any(each.excuse for each in report.items)
