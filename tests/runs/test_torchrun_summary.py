"""The last lines of a pod that torchrun ended say why its process failed."""

from trainer_infra.runs.view import without_torchrun_summary

LOG = """\
step 3
[rank0]: Traceback (most recent call last):
[rank0]:   File "train.py", line 3, in train
[rank0]: ValueError: no rows
W1126 19:06:38.266000 21092 torch/distributed/elastic/multiprocessing/api.py:1012] Sending process 7 closing signal SIGTERM
E1126 19:06:38.267000 21092 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 0 (pid: 21364)
Traceback (most recent call last):
  File "bin/torchrun", line 8, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
main.py FAILED
============================================================""".splitlines()


def test_it_ends_where_torchrun_begins_to_explain_itself() -> None:
    assert without_torchrun_summary(LOG) == LOG[:6]


def test_other_logs_are_whole() -> None:
    other = ["torch/distributed/elastic is imported", "failed (exitcode: 1)"]
    assert without_torchrun_summary(other) == other
    assert without_torchrun_summary([]) == []
