"""When processes ask each other whether one was told to end."""

from trainer_infra.in_pod.checkpoints.questions import LONGEST, SHARE, Questions


class Pair:
    """Two processes, of which this is one, and the other says what the test wants."""

    rank, size, place = 0, 2, ""

    def __init__(self, cost: float) -> None:
        self.now = 0.0
        self.cost = cost
        self.asked = 0
        self.other: tuple[int, ...] = ()

    def most(self, *values: int) -> tuple[int, ...]:
        self.asked += 1
        self.now += self.cost
        other = self.other or (0,) * len(values)
        return tuple(int(max(each)) for each in zip(values, other, strict=True))

    def clock(self) -> float:
        return self.now


def asked_in(steps: int, *, step: float, cost: float) -> int:
    pair = Pair(cost)
    questions = Questions(pair, pair.clock)
    for _ in range(steps):
        pair.now += step
        questions.ask(False)
    return pair.asked


def test_long_steps_are_asked_at_each() -> None:
    assert asked_in(20, step=2.0, cost=0.001) == 20


def test_short_steps_pay_little_for_it() -> None:
    asked = asked_in(10_000, step=0.001, cost=0.001)
    assert 0 < asked <= 2 + 10_000 // (SHARE // 2)


def test_no_process_waits_long_for_an_answer() -> None:
    # A question that takes 0.1 s would be asked each 20 s otherwise.
    asked = asked_in(1_000, step=0.01, cost=0.1)
    assert asked >= 1_000 * 0.01 / (2 * LONGEST)


def test_one_that_says_yes_is_enough() -> None:
    pair = Pair(0.001)
    questions = Questions(pair, pair.clock)
    assert questions.ask(False, False) == (False, False)
    pair.other = (1, 0, 0)
    pair.now += 10
    assert questions.ask(False, False) == (True, False)
