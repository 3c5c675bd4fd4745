"""Which names a piece of code takes from outside, scope by scope."""

import pytest

from trainer_infra.trainers.custom import function

NONE: dict[str, int] = {}
CASES = {
    "arguments and locals are defined": (
        "def f(a, *b, c=1, **d):\n e = a, b, c, d\n return e",
        NONE,
    ),
    "recursion finds itself": ("def f(): return f()", NONE),
    "a comprehension has its own names": ("def f(): return [x for x in range(3) if y]", {"y": 1}),
    "a comprehension does not leak": ("def f():\n [x for x in ()]\n return x", {"x": 3}),
    "an exception's name is bound": ("def f():\n try: pass\n except OSError as e: print(e)", NONE),
    "a walrus binds in the function": ("def f(): return [(y := x) for x in ()], y", NONE),
    "a global that is assigned is defined": (
        "def f():\n global g\n g = 1\ndef h(): return g",
        NONE,
    ),
    "a global that is only read is not": ("def f():\n global g\n return g", {"g": 3}),
    "a global that is only added to is not": ("def f():\n global g\n g += 1", {"g": 3}),
    "an outer local is defined": ("def f():\n x = 1\n def g():\n  nonlocal x\n  return x", NONE),
    "a class body does not serve its methods": (
        "def f():\n class C:\n  x = 1\n  def m(self): return x",
        {"x": 4},
    ),
    "imports bind": ("def f():\n import a.b, c as d\n from e import g\n a, d, g", NONE),
    "match patterns bind": (
        "def f(x):\n match x:\n  case [a, *b]: return a, b\n  case {'k': c, **d}: return c, d",
        NONE,
    ),
    "match classes are used": ("def f(x):\n match x:\n  case Point(): pass", {"Point": 3}),
    "defaults and annotations are evaluated outside": (
        "def f(a: T = D, *b: U) -> R: pass",
        {"D": 1, "R": 1, "T": 1, "U": 1},
    ),
    "an argument does not serve its own annotation": ("def f(T, a: T): pass", {"T": 1}),
    "quoted annotations are not evaluated": ("def f(a: 'T') -> 'R': pass", NONE),
    "annotations of locals are never evaluated": ("def f():\n x: T = 1\n f.y: U = 2\n z: V", NONE),
    "annotations of nested functions are": ("def f():\n def g(a: T): pass", {"T": 2}),
    "annotations in a class are": ("def f():\n class C:\n  x: T\n  y: int = 1\n  z = y", {"T": 3}),
    "lazy annotations are not": (
        "from __future__ import annotations\ndef f(a: T) -> R:\n class C:\n  x: U",
        NONE,
    ),
    "decorators and bases are used": (
        "@d\ndef f():\n class C(B, metaclass=M): pass",
        {"d": 1, "B": 3, "M": 3},
    ),
    "super and module names are there": (
        "def f():\n class C:\n  def m(self): return super().m(), __class__\n return __name__, __file__",
        NONE,
    ),
    "deleting is not a definition": ("def f():\n global g\n del g", NONE),
    "notebook helpers are not builtins": ("def f(): display(1)", {"display": 1}),
    "f-strings are read": ("def f(): return f'{x:{y}}'", {"x": 1, "y": 1}),
    "lambdas have arguments": ("def f(): return lambda a, b=z: a + b + c", {"c": 1, "z": 1}),
    "a with statement and a loop bind": (
        "def f():\n with open('') as a, a as (b, c):\n  for d in b: c, d",
        NONE,
    ),
    "an attribute is not a name": ("def f(a): return a.b.c", NONE),
    "star imports cannot be followed, at module level all counts": (
        "x = 1\ndef f(): return x",
        NONE,
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_a_name_that_nothing_defines_is_found_with_its_line(
    text: str, expected: dict[str, int]
) -> None:
    assert function.undefined_names(text) == expected
