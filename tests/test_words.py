"""Names in sentences."""

import pytest

from trainer_infra import words


@pytest.mark.parametrize(
    ("names", "last", "most", "expected"),
    [
        ("", "or", 2, ""),
        ("a", "or", 2, "a"),
        ("ab", "or", 2, "a or b"),
        ("abc", "and", 0, "a, b and c"),
        ("abc", "", 0, "a, b, c"),
        ("abc", "or", 2, "a, b and 1 more"),
        ("abcd", "", 1, "a and 3 more"),
    ],
)
def test_of_many_names_a_sentence_has_the_first(
    names: str, last: str, most: int, expected: str
) -> None:
    assert words.listed(names, last, most) == expected


def test_of_a_name_that_is_not_known_the_nearest_is_told_or_all() -> None:
    known = ("nodes", "runtime")
    assert words.did_you_mean("node", known) == "did you mean nodes?"
    assert words.did_you_mean("image", known) == "use nodes, runtime"
    assert words.did_you_mean("image", known, "leave it out") == "leave it out"
    assert words.nearest("RUNTIMES", known) == []
    assert words.nearest("RUNTIMES", known, any_case=True) == ["runtime"]
