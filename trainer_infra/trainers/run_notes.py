"""What a TrainJob says of its code to who asks later which run had which setting. Pure.

Arguments and packages lie in the ConfigMap of the code, which no list of runs reads: so the
TrainJob has them as annotations, cut where they are large.
"""

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.trainers.code import Code, syntax_of

_LONGEST: Final = 200
"""Characters of a value that are kept."""
_LARGEST: Final = 16 * 1024
"""Characters of an annotation: Kubernetes allows 256 KiB for all of an object."""


def code_notes(code: Code) -> dict[str, str]:
    """Annotations by name; none of what the code does not have."""
    given = json.loads(code.files.get("args.json", "{}"))
    rest = {name: each for name, each in _defaults(code) if name not in given}
    arguments = {"given": _shortened(given), "defaults": _shortened(rest)}
    # Where packages come from and their hashes are no setting of a run.
    packages = {
        each.partition(" --hash=")[0]: "" for each in code.packages if not each.startswith("--")
    }
    said = {
        names.ARGUMENTS: arguments if given or rest else None,
        names.PACKAGES: list(_shortened(packages)),
    }
    return {name: json.dumps(each, sort_keys=True) for name, each in said.items() if each}


def _shortened(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as far as there is room for them; what is cut says how long it was."""
    left = _LARGEST
    kept: dict[str, Any] = {}
    for name, value in values.items():
        text = json.dumps(value)
        left -= len(name) + min(len(text), _LONGEST)
        if left < 0:
            return {**kept, f"and {len(values) - len(kept)} more": ""}
        is_long = len(text) > _LONGEST
        kept[name] = f"{text[:_LONGEST]}... ({len(text)} characters)" if is_long else value
    return kept


def _defaults(code: Code) -> Iterator[tuple[str, Any]]:
    """Arguments that the function has by itself, as far as they are literals of JSON."""
    launch = code.launch()
    called, module = launch.get("function"), str(launch.get("module", "")).replace(".", "/")
    paths = (f"{module}.py", f"{module}/__init__.py", launch.get("file", ""))
    text = next((code.files[at] for each in paths if (at := f"source/{each}") in code.files), "")
    tree = syntax_of(text) if called and text else None
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef) and node.name == called:
            plain = [*node.args.posonlyargs, *node.args.args]
            after = plain[len(plain) - len(node.args.defaults) :]
            pairs = [*zip(after, node.args.defaults, strict=True)]
            keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            pairs += [(name, each) for name, each in keywords if each is not None]
            yield from ((name.arg, each) for name, value in pairs for each in _literal(value))


def _literal(value: ast.expr) -> Iterator[Any]:
    """The value where JSON has it."""
    try:
        found = ast.literal_eval(value)
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError):
        return
    yield found
