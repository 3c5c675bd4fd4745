"""numpy's numbers in the arguments of a resource are the numbers that they hold."""

from tests.deploy.project import Stack


def test_numpy_numbers_are_taken_wherever_a_number_is(stack: Stack) -> None:
    stack.program("""
import numpy as np

def fit(rate, grid):
    assert (rate, grid) == (0.5, [0.1, 0.2]), (rate, grid)

TrainJob("job", runtime="plain-distributed", attempt=np.int64(2), wait_for="complete",
         active_deadline_seconds=np.int32(300), delete_timeout=np.float32(30),
         trainer=CustomTrainer(fit, func_args={"rate": np.float64(0.5), "grid": np.array([0.1, 0.2])}))
TrainJob("wire", runtime="plain-distributed", suspend=np.bool_(True),
         trainer={"command": ["true"], "numNodes": np.int64(2)})
""")

    stack.up()

    assert stack.job()["attempt"] == 2
    assert stack.job()["spec"]["activeDeadlineSeconds"] == 300
    assert stack.job("wire")["spec"]["trainer"]["numNodes"] == 2
    assert stack.job("wire")["spec"]["suspend"] is True
    stack.unchanged()
