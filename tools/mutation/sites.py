"""Places of a module where one small change makes another program: `sites_of`.

A site is a span of the source with the text that replaces it. Texts, annotations and patterns are
left out: what a message says is no decision.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

SWAPPED: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}
"""An operator, and the one that stands in its place."""


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """A span of a source file, in bytes of its text, and what stands there instead."""

    start: int
    end: int
    line: int
    before: str
    after: str
    """An expression; empty where a statement is left out."""


def sites_of(source: str) -> list[Site]:
    """Every site of a module, in the order of the text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    found = []
    for node, after in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = source.encode()[start:end].decode()
        found.append(Site(start, end, node.lineno, before, after))
    return sorted(found)


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Nodes of expressions with the source of what replaces each; a call that stands alone with ''."""
    match node:
        case ast.JoinedStr() | ast.pattern() | ast.Subscript():
            return
        case ast.Expr(value=ast.Call() as call):
            yield call, ""
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, "None"
        case ast.If(test=test) | ast.IfExp(test=test):
            yield test, f"not ({ast.unparse(test)})"
        case ast.comprehension(ifs=[first, *_]):
            yield first, "True"
        case _:
            yield from _of_operator(node)
    for child in _children(node):
        yield from _changes(child)


def _of_operator(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in SWAPPED:
            changed = ast.Compare(node.left, [SWAPPED[type(operator)]()], node.comparators)  # type: ignore[list-item]
            yield node, ast.unparse(changed)
        case ast.BoolOp(op=operator):
            yield node, ast.unparse(ast.BoolOp(SWAPPED[type(operator)](), node.values))  # type: ignore[arg-type]
        case ast.BinOp(op=ast.Add() | ast.Sub() as operator):
            yield (
                node,
                ast.unparse(ast.BinOp(node.left, SWAPPED[type(operator)](), node.right)),  # type: ignore[arg-type]
            )
        case ast.Constant(value=bool() as value):
            yield node, str(not value)
        case ast.Constant(value=int() as value):
            yield node, str(value + 1)
        case _:
            return


def _children(node: ast.AST) -> Iterator[ast.AST]:
    left_out = {"annotation", "returns", "decorator_list", "bases", "keywords", "type_params"}
    definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.arg)
    for name, value in ast.iter_fields(node):
        if name in left_out and (definition or name == "annotation"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
