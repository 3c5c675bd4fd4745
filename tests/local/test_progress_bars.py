"""Progress bars of real programs in the log of a run: seen as they are drawn, and no flood."""

from pathlib import Path

import pytest

from tests.local.jobs import Job, eventually, finished, lines, log_has, now, python, shell
from trainer_infra.local import runs
from trainer_infra.runs.run import LogSelection, RunKey

KEY = RunKey("default", "tj")
BARS = """
import sys, time
from tqdm import tqdm, trange

for epoch in trange(2, desc="epochs"):
    for _ in trange(50, desc="steps", leave=False, mininterval=0):
        pass
    print(f"loss of epoch {epoch}")
files = [tqdm(desc=f"file {n}", total=300, position=n, mininterval=0) for n in range(3)]
for _ in range(300):
    for each in files:
        each.update()
for each in files:
    each.close()
print("saved", end="")
"""


@pytest.mark.parametrize("bar", ["\\rstep {n}/5 █", "step {n}/5 █\\r"], ids=["before", "behind"])
def test_each_state_of_a_bar_is_seen_while_the_program_has_not_ended_it(
    bar: str, tmp_path: Path
) -> None:
    code = (
        "import pathlib, sys, time\n"
        f"for n in range(3):\n    sys.stderr.write(f'{bar}'); sys.stderr.flush()\n"
        f"    while not pathlib.Path({str(tmp_path)!r}, str(n)).exists(): time.sleep(0.02)\n"
    )
    run = Job(command=python(code)).submit()
    followed = runs.logs(KEY, LogSelection(follow=True))
    for n in range(3):
        assert next(followed) == ("tj-node-0-0", f"step {n}/5 █")
        assert lines(run)[-1] == f"step {n}/5 █"
        (tmp_path / str(n)).touch()
    assert list(followed) == []


def test_a_bar_that_is_drawn_thousands_of_times_is_a_few_lines_and_ends_with_its_last_state() -> (
    None
):
    code = "for n in range(20000): print(f'\\rstep {n}', end='')\nprint('\\nloss 0.5')"
    run = Job(command=python(code)).submit()
    finished(run)
    assert lines(run)[-2:] == ["step 19999", "loss 0.5"]
    assert len(lines(run)) < 200


def test_bars_of_tqdm_side_by_side_and_what_is_printed_among_them_are_lines() -> None:
    run = finished(Job(command=python(BARS)).submit())
    found = lines(run)
    for part in ("loss of epoch 0", "loss of epoch 1", "saved"):
        assert sum(part in each for each in found) == 1, found
    for n in range(3):
        last = [each for each in found if each.startswith(f"file {n}:")][-1]
        assert "100%" in last
        assert "300/300" in last
    assert not any(mark in each for each in found for mark in ("\r", "\x1b", "\b"))
    assert len(found) < 100


def test_a_secret_in_a_bar_is_hidden() -> None:
    secret = {"kind": "Secret", "metadata": {"name": "tj-secret"}, "stringData": {"p": "<secret>"}}
    env = [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "tj-secret", "key": "p"}}}]
    code = "printf '\\rstep 1 %s' $P; printf '\\rstep 2 %s\\n' $P"
    job = Job(command=shell(code), env=env, objects=[secret], secrets={"p": "planted-here"})
    text = lines(finished(job.submit()))
    assert text[-1] == "step 2 <secret>"
    assert not any("plant" in each for each in text)


def test_bytes_that_are_no_text_and_characters_in_parts_are_kept() -> None:
    code = r"printf '\342\226'; sleep 0.2; printf '\210 done\n\377\376 bytes\n\rbar \342\226\210'"
    run = finished(Job(command=shell(code)).submit())
    assert lines(run) == ["█ done", "\ufffd\ufffd bytes", "bar █"]


def test_of_a_failed_run_the_last_lines_have_a_bar_once_and_why_it_failed() -> None:
    code = "for n in range(3000): print(f'\\rstep {n}', end='')\nraise SystemExit('no more data')"
    ended = finished(Job(command=python(code)).submit())
    assert ended.failure is not None
    said = ended.failure.last_lines
    assert said[-1] == "step 2999no more data"
    assert len(said) < 20


def test_of_states_that_come_at_once_the_newest_is_a_line(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    code = (
        f"echo a; printf '\\r1%%\\r2%%'; until [ -e {gate} ]; do sleep 0.02; done; printf '\\r3%%'"
    )
    run = Job(command=shell(code)).submit()
    eventually(log_has(run, "2%"))
    assert lines(run) == ["a", "2%"]
    assert now(run).phase == "Running"
    gate.touch()
    finished(run)
    assert lines(run) == ["a", "2%", "3%"]
