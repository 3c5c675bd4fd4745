"""An answer of the reference that was kept is given again; another question is asked."""

from pathlib import Path

import pytest

from tests.parity.kept_answers import kept_answer


def test_a_question_is_asked_once_and_another_one_anew(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(question: str) -> str:
        def ask() -> str:
            asked.append(question)
            return f"ä {question}\n"

        return kept_answer(tmp_path / "answers", question, ask)

    assert [answer(each) for each in ("a", "b", "a")] == ["ä a\n", "ä b\n", "ä a\n"]
    assert asked == ["a", "b"]


def test_a_question_without_an_answer_leaves_nothing(tmp_path: Path) -> None:
    def ask() -> str:
        raise RuntimeError("the reference program failed")

    with pytest.raises(RuntimeError):
        kept_answer(tmp_path, "a", ask)
    assert [*tmp_path.iterdir()] == []
