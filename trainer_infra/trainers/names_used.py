"""Names that a piece of code uses and nobody in it defines.

`function` asks this of a function's source before it travels alone. Scopes are Python's own
(symtable), so comprehensions, nested functions, `except ... as` and `global` count as they do when
the code runs. Pure.
"""

import ast
import builtins
import symtable
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

# Consoles and notebooks put these among the builtins; a pod does not have them.
BUILTINS = frozenset(dir(builtins)) - {"_", "display", "get_ipython"}
OF_A_MODULE = frozenset(
    {"__name__", "__file__", "__doc__", "__spec__", "__loader__", "__package__"}
)


def undefined(text: str) -> dict[str, int]:
    """Name -> line of its first use, of every name that running the code would not find.

    Args:
        text: source of a module.

    Raises:
        SyntaxError: the text is not Python.
    """
    tree = ast.parse(text)
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            lines[node.id] = min(node.lineno, lines.get(node.id, node.lineno))
    top = symtable.symtable(ast.unparse(_evaluated(tree)), "<source>", "exec")
    tables = [top, *_below(top)]
    used = {name for table in tables for name in _global_uses(table)}
    defined = {name for table in tables for name in _global_definitions(table)}
    missing = (used - defined - BUILTINS - OF_A_MODULE) & lines.keys()
    return dict(
        sorted(((name, lines[name]) for name in missing), key=lambda item: (item[1], item[0]))
    )


def _below(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _below(child)


def _global_uses(table: symtable.SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
            yield symbol.get_name()


def _global_definitions(table: symtable.SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        written = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
        if written and (table.get_type() == "module" or symbol.is_declared_global()):
            yield symbol.get_name()


def _evaluated(tree: ast.Module) -> ast.Module:
    """The tree with what is evaluated where it is evaluated, and nothing else.

    Annotations become decorators, which have the same scope in every version of Python; those of
    local variables never run and are dropped, and so are all under `from __future__ import
    annotations`. `x += 1` reads x without defining it.
    """
    lazy = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )
    changed: ast.Module = _Evaluated(lazy).visit(tree)
    return ast.fix_missing_locations(changed)


class _Evaluated(ast.NodeTransformer):
    def __init__(self, lazy: bool) -> None:
        self.lazy = lazy
        self.in_function = False

    @override
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    @override
    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    @override
    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._scope(node, in_function=False)

    @override
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        read = ast.Name(node.target.id, ast.Load())
        return ast.Expr(ast.BinOp(read, node.op, node.value))

    @override
    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        kept = [] if self.lazy or self.in_function else [ast.Expr(node.annotation)]
        self.generic_visit(node)
        target = [node.target] if node.value or isinstance(node.target, ast.Name) else []
        value = node.value or ast.Constant(None)
        return [*kept, *(ast.Assign([each], value) for each in target)] or ast.Pass()

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        spec = node.args
        every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
        holders = [arg for arg in every if arg is not None]
        annotations = [arg.annotation for arg in holders] + [node.returns]
        node.returns = None
        for arg in holders:
            arg.annotation = None
        # With type parameters the annotations have a scope of their own, which symtable knows
        # in some versions only.
        if not self.lazy and not getattr(node, "type_params", []):
            node.decorator_list += [each for each in annotations if each is not None]
        return self._scope(node, in_function=True)

    def _scope(self, node: ast.AST, *, in_function: bool) -> ast.AST:
        before, self.in_function = self.in_function, in_function
        self.generic_visit(node)
        self.in_function = before
        return node
