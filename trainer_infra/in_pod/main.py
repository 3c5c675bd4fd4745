"""Starts the user's code inside a training pod.

`custom_trainer` ships this text as `main.py` of the code mount, beside `launch.json` (what to run), `args.json`,
the folder `source`, unless that comes from a store, and, for images without this package, the folder `lib`.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import runpy
import sys
from collections.abc import Callable
from types import AsyncGeneratorType, CoroutineType, GeneratorType, TracebackType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  pathlib starts slowly
SOURCE = os.path.join(os.environ.get("TRAINER_INFRA_SOURCE") or os.path.join(HERE, "source"), "")  # noqa: PTH118  the same


def main() -> None:
    """Run what launch.json names."""
    sys.excepthook = show_error
    launch = read_object(os.path.join(HERE, "launch.json"))  # noqa: PTH118
    set_path()
    if "program" in launch:
        run_program(launch)
    elif "main_module" in launch:
        sys.path.insert(0, SOURCE)
        runpy.run_module(launch["main_module"], run_name="__main__", alter_sys=True)
    elif "script" in launch:
        run_script(os.path.join(SOURCE, launch["script"]))  # noqa: PTH118
    else:
        call_function(load_function(launch), launch.get("framework"))


def set_path() -> None:
    """Take our own folder off sys.path, and put `lib` last where the package is missing."""
    # A mounted ConfigMap is full of links: Python puts their target on the path.
    ours = {os.path.realpath(HERE), os.path.dirname(os.path.realpath(__file__))}  # noqa: PTH120
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry) not in ours]
    if importlib.util.find_spec("trainer_infra") is None:
        sys.path.append(os.path.join(HERE, "lib"))  # noqa: PTH118


def run_script(script: str) -> None:
    """Run a file as `python FILE ARGS` would; the folder it came in can be imported from too."""
    sys.path[:0] = list(dict.fromkeys([os.path.dirname(script), SOURCE]))  # noqa: PTH120
    sys.argv[0] = script
    runpy.run_path(script, run_name="__main__")


def run_program(launch: dict[str, Any]) -> None:
    """Run a library's own program, as `python -m MODULE ARGS` would or by its function `MODULE:FUNCTION`.

    Its arguments may name outputs of the run. Where it reports, it does so by transformers' Trainer, which saves its checkpoints too. An adapter
    that it begins with is in its model before, and what becomes of the one that it trains is done after it.
    """
    from trainer_infra.in_pod.storage import with_outputs  # noqa: PLC0415  found by set_path

    sys.argv[1:] = map(with_outputs, sys.argv[1:])
    if "begins_with" in launch:
        from trainer_infra.in_pod import lora_adapter  # noqa: PLC0415  the same

        sys.argv[1:] = lora_adapter.with_adapter(sys.argv[1:], **launch["begins_with"])
    if launch["reports"]:
        from trainer_infra.in_pod.callbacks import hugging_face  # noqa: PLC0415  the library has it

        hugging_face.report_every_trainer()
    module, _, function = launch["program"].partition(":")
    if function:
        sys.argv[0] = module
        getattr(importlib.import_module(module), function)()
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    if "adapter" in launch:
        from trainer_infra.in_pod import lora_adapter  # noqa: PLC0415  found by set_path

        lora_adapter.finish(launch["adapter"], merge=launch["merge"])


def load_function(launch: dict[str, Any]) -> Callable[..., object]:
    """The function to call: from a module of the source folder, or from a file of its own."""
    if "module" in launch:
        sys.path.insert(0, SOURCE)
        module = importlib.import_module(launch["module"])
    else:
        # Not imported by its file's name, which may be that of a module the function imports.
        path = os.path.join(SOURCE, launch["file"])  # noqa: PTH118
        spec = importlib.util.spec_from_file_location("trainer_infra_function", path)
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # a .py file has one
        sys.modules[module.__name__] = module
        spec.loader.exec_module(module)  # type: ignore[union-attr]  # the same
    function: Callable[..., object] = getattr(module, launch["function"])
    return function


def call_function(function: Callable[..., object], framework: dict[str, Any] | None) -> None:
    """Call the function with its arguments; with what a framework gives it, once that is prepared."""
    arguments = read_arguments()
    if framework is None:
        refuse_unstarted(function(**arguments))
        return
    import inspect  # noqa: PLC0415  slow to import

    module = importlib.import_module(f"trainer_infra.in_pod.frameworks.{framework['name']}")
    taken = inspect.signature(function).parameters
    with module.prepared(framework["settings"]) as given:
        used = {name: each for name, each in given.items() if name in taken}
        refuse_unstarted(function(**used, **arguments))


def refuse_unstarted(returned: object) -> None:
    """End a run whose function has not begun: behind a decorator, no preview knows that it is async."""
    what, verb = "generator", "runs"
    if isinstance(returned, CoroutineType):
        code, fix = returned.cr_code, "that calls asyncio.run"
        what, verb = "coroutine", "awaits"
        # Else Python warns of it too.
        returned.close()
    elif isinstance(returned, AsyncGeneratorType):
        code, fix = returned.ag_code, "that calls asyncio.run, without yield"
    elif isinstance(returned, GeneratorType) and is_unstarted(returned):
        code, fix = returned.gi_code, "without yield"
    else:
        return
    file = code.co_filename.replace(SOURCE, "", 1)
    sys.exit(
        f"{file}:{code.co_firstlineno}: the function returned the {what} {returned.__qualname__}, which "
        f"nothing {verb}, so nothing was trained; make it a plain function {fix}"
    )


def is_unstarted(generator: GeneratorType[Any, Any, Any]) -> bool:
    """Whether it is a function's whole body, of which nothing has run; an expression is a value."""
    frame = generator.gi_frame
    return generator.__name__ != "<genexpr>" and frame is not None and frame.f_lasti < 0


def read_arguments() -> dict[str, Any]:
    """The function's arguments: args.json, and the mounted file of secret ones."""
    merged = read_object(os.path.join(HERE, "args.json"))  # noqa: PTH118
    secret = os.environ.get("TRAINER_INFRA_SECRET_ARGS")
    if secret:
        merged.update(read_object(secret))
    return merged


def read_object(path: str) -> dict[str, Any]:
    """A JSON object from a file."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        content: dict[str, Any] = json.load(file)
    return content


def show_error(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print a traceback from the first frame of the user's own code on; whole where there is none."""
    own = trace
    while own is not None and not own.tb_frame.f_code.co_filename.startswith(SOURCE):
        own = own.tb_next
    sys.__excepthook__(kind, error.with_traceback(own or trace), own or trace)


if __name__ == "__main__":
    main()
