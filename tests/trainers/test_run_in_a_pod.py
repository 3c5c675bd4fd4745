"""What was packed, mounted and started for real."""

import __future__

import contextlib
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.trainers.conftest import Load, Pod, Write
from trainer_infra import in_pod
from trainer_infra.api.secret import Secret
from trainer_infra.in_pod import main
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

ARGS: dict[str, Any] = {
    "epochs": 3,
    "rate": 1.0,
    "layers": [1, {"wide": None}],
    "text": "$x ${HOME} $(id) `id`\n",
}


def test_a_function_gets_its_arguments_with_their_types(module: Load, pod: Pod) -> None:
    fit = module(
        """
        import os

        def train(epochs, rate, layers, text, quick=True):
            import sys
            print(repr((epochs, rate, layers, text, quick, sys.argv[1:])))
        """
    )
    ended = pod.run(CustomTrainer(fit.train, func_args=ARGS).pack())
    expected: Any = (3, 1.0, [1, {"wide": None}], ARGS["text"], True, [])
    assert (ended.code, ended.out, ended.err) == (0, f"{expected!r}\n", "")


def test_secret_arguments_arrive_and_are_in_no_other_place(module: Load, pod: Pod) -> None:
    fit = module("def train(user, key): print(user, key)\n")
    secret = Secret({"id": "s3cr3t-value", "n": [1, 2.0]})
    packed = CustomTrainer(fit.train, func_args={"user": "ann", "key": secret}).pack()
    assert "s3cr3t" not in repr((packed.code, packed.trainer))
    assert packed.secret_data == {
        "secret_args.json": '{"key": {"id": "s3cr3t-value", "n": [1, 2.0]}}'
    }
    assert pod.run(packed).out == "ann {'id': 's3cr3t-value', 'n': [1, 2.0]}\n"


def test_a_traceback_has_the_users_file_and_line_and_none_of_ours(module: Load, pod: Pod) -> None:
    fit = module(
        """


        if True:
            def train():
                text = '''
            kept
        '''
                assert text == chr(10) + "    kept" + chr(10), "changed"
                raise ValueError("no data")
        """
    )
    assert fit.train.__code__.co_firstlineno == 5
    ended = pod.run(CustomTrainer(fit.train).pack())
    assert ended.code == 1
    assert ended.err == (
        "Traceback (most recent call last):\n"
        '  File "POD/code/source/fit.py", line 10, in train\n'
        '    raise ValueError("no data")\n'
        "ValueError: no data\n"
    )


def test_lazy_annotations_stay_lazy(module: Load, pod: Pod) -> None:
    fit = module(
        """
        from __future__ import annotations
        import array

        def train(data: array.array | None = None) -> Missing:
            size: array.array = 3
            print(size)
        """.replace("\n        ", "\n").lstrip()
    )
    assert pod.run(CustomTrainer(fit.train).pack()).out == "3\n"


def test_a_script_runs_as_main_with_exact_arguments(write: Write, pod: Pod) -> None:
    write(
        "01-train.py",
        """
        import sys
        if __name__ == "__main__":
            print(sys.argv[0].endswith("source/01-train.py"), sys.argv[1:])
            sys.exit(7)
        """,
    )
    args = ["--name=$(HOME)", "$$", "$5", "a b'\""]
    packed = CustomTrainer("01-train.py", args=args).pack()
    assert packed.trainer == {"args": ["--name=$$(HOME)", "$$$$", "$5", "a b'\""]}
    # A kubelet turns `$$` into `$`; without one the doubled dollars are what the program sees.
    ended = pod.run(CustomTrainer("01-train.py", args=args[2:]).pack())
    assert (ended.code, ended.out) == (7, "True ['$5', 'a b\\'\"']\n")


def test_a_script_may_start_processes_of_its_own(write: Write, pod: Pod) -> None:
    write(
        "train.py",
        """
        import multiprocessing

        def double(x):
            return 2 * x

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(double, [1, 2]))
        """,
    )
    ended = pod.run(CustomTrainer("train.py").pack())
    assert (ended.err, ended.out) == ("", "[2, 4]\n")


def test_a_script_that_fails_shows_its_own_frames(write: Write, pod: Pod) -> None:
    write("train.py", "def inner():\n    1 / 0\n\ninner()\n")
    ended = pod.run(CustomTrainer("train.py").pack())
    assert [line.strip() for line in ended.err.splitlines() if "File" in line] == [
        'File "POD/code/source/train.py", line 4, in <module>',
        'File "POD/code/source/train.py", line 2, in inner',
    ]


def test_a_folder_travels_with_its_packages(write: Write, pod: Pod) -> None:
    write(
        "app/run/main.py", "import local\nfrom pkg.sub import name\nprint(local.x, name.text())\n"
    )
    write("app/run/local.py", "x = 1\n")
    write("app/pkg/__init__.py", "")
    write("app/pkg/sub/__init__.py", "")
    write(
        "app/pkg/sub/name.py",
        """
        from pathlib import Path

        def text():
            return Path(__file__, "../../../ünï code.txt").resolve().read_text()
        """,
    )
    write("app/ünï code.txt", "exact\r\n")
    for hidden in (".git/config", ".venv/x.py", "__pycache__/x.pyc", ".env", "pkg/__pycache__/y"):
        write(f"app/{hidden}", "left out")
    packed = CustomTrainer("app:run/main.py").pack()
    assert sorted(path for path in packed.code.files if path.startswith("source/")) == [
        "source/pkg/__init__.py",
        "source/pkg/sub/__init__.py",
        "source/pkg/sub/name.py",
        "source/run/local.py",
        "source/run/main.py",
        "source/ünï code.txt",
    ]
    ended = pod.run(packed)
    assert (ended.err, ended.out) == ("", "1 exact\n\n")


def test_a_function_of_a_file_keeps_its_helpers(write: Write, pod: Pod) -> None:
    write(
        "train.py",
        "import math\nPI = math.pi\n\ndef area(r): print(round(half(r), 2))\n\ndef half(r): return PI * r / 2\n",
    )
    assert pod.run(CustomTrainer("train.py:area", func_args={"r": 2}).pack()).out == "3.14\n"


ASYNC = """
def later(function):
    async def waited(): function()
    return waited

@later
def fit(): print("trained")
"""


def test_a_training_that_is_async_behind_a_decorator_fails_the_run(write: Write, pod: Pod) -> None:
    write("train.py", ASYNC)
    ended = pod.run(CustomTrainer("train.py:fit").pack())
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "train.py:3: the function returned the coroutine later.<locals>.waited, which nothing awaits, "
        "so nothing was trained; make it a plain function that calls asyncio.run\n"
    )


def test_one_that_a_framework_prepares_fails_it_too(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("args.json", "{}")
    space: dict[str, Any] = {}
    exec(ASYNC, space)
    framework = ModuleType("trainer_infra.in_pod.frameworks.plain")
    framework.__dict__["prepared"] = contextlib.nullcontext
    monkeypatch.setitem(sys.modules, framework.__name__, framework)
    monkeypatch.setattr(main, "HERE", str(Path.cwd()))
    with pytest.raises(
        SystemExit, match=r"^<string>:3: the function returned the coroutine .*asyncio.run$"
    ):
        main.call_function(space["fit"], {"name": "plain", "settings": {}})


def test_a_byte_order_mark_is_no_part_of_the_code(write: Write, pod: Pod) -> None:
    write("app/bom.py", "\ufeffdef fit(epochs): print(epochs)\n")
    packed = CustomTrainer("app:bom:fit", func_args={"epochs": 2}).pack()
    assert packed.code.files["source/bom.py"].startswith("\ufeff")
    assert pod.run(packed).out == "2\n"
    before = packed.code.of_the_user()
    write("app/bom.py", "\ufeff# A comment.\ndef fit(epochs): print(epochs)\n")
    after = CustomTrainer("app:bom:fit", func_args={"epochs": 2}).pack().code.of_the_user()
    assert after == before


def test_a_function_of_a_module_in_a_folder(write: Write, pod: Pod) -> None:
    write("app/pkg/__init__.py", "")
    write("app/pkg/train.py", "from pkg import other\n\ndef fit(): print(__name__, other.x)\n")
    write("app/pkg/other.py", "x = 5\n")
    for train in ("app:pkg.train:fit", "app:pkg/train.py:fit"):
        assert pod.run(CustomTrainer(train).pack()).out == "pkg.train 5\n"
        pod.folder.joinpath("code").rename(pod.folder / train.replace("/", "."))


def test_report_is_there_without_our_package(module: Load, pod: Pod) -> None:
    fit = module(
        """
        def train():
            import sys
            from trainer_infra import report
            report.report(progress=40, loss=0.31)
            print("ssl" in sys.modules, report.__file__.endswith("code/lib/trainer_infra/report.py"))
        """
    )
    ended = pod.run(CustomTrainer(fit.train).pack())
    assert (ended.err, ended.out) == ("", "progress 40%  loss=0.31\nFalse True\n")


@pytest.mark.parametrize(
    "line", ["from trainer_infra.callbacks import steps", "from trainer_infra import callbacks"]
)
def test_callbacks_are_there_without_our_package_when_the_code_names_them(
    line: str, module: Load, pod: Pod
) -> None:
    named = "steps" if line.endswith("steps") else "callbacks.steps"
    fit = module(f"def train():\n    {line}\n    print(list({named}('ab')), {named}.__module__)\n")
    packed = CustomTrainer(fit.train).pack()
    ended = pod.run(packed)
    printed = "['a', 'b'] trainer_infra.in_pod.callbacks.loop"
    assert (ended.err, ended.out.splitlines()[-1]) == ("", printed)
    assert {path for path in packed.code.files if "callbacks" in path} == {
        "lib/trainer_infra/callbacks.py",
        *(
            f"lib/trainer_infra/in_pod/callbacks/{path.name}"
            for path in (Path(in_pod.__file__).parent / "callbacks").glob("*.py")
        ),
    }


def test_callbacks_do_not_travel_with_code_that_does_not_name_them(module: Load) -> None:
    fit = module("def train():\n    from trainer_infra import report\n    callbacks = report\n")
    packed = CustomTrainer(fit.train).pack()
    assert [path for path in packed.code.files if "callbacks" in path] == []


def test_an_installed_package_wins_over_the_copy(module: Load, pod: Pod, tmp_path: Path) -> None:
    installed = tmp_path / "installed" / "trainer_infra"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("here = 'installed'\n")
    fit = module("def train():\n    import trainer_infra\n    print(trainer_infra.here)\n")
    env = {"PYTHONPATH": str(installed.parent)}
    assert pod.run(CustomTrainer(fit.train, env=env).pack()).out == "installed\n"


def test_the_launcher_is_not_importable_by_accident(write: Write, pod: Pod) -> None:
    write("train.py", "import importlib.util\nprint(importlib.util.find_spec('main'))\n")
    assert pod.run(CustomTrainer("train.py").pack()).out == "None\n"


def test_a_function_of_a_notebook_cell_keeps_the_flags_of_earlier_cells(pod: Pod) -> None:
    text = "def train(a: Missing): print(a)\n"
    space: dict[str, Any] = {}
    exec(compile(text, "<cell-1>", "exec", __future__.annotations.compiler_flag), space)
    linecache.cache["<cell-1>"] = (len(text), None, [text], "<cell-1>")
    packed = CustomTrainer(space["train"], func_args={"a": 1}).pack()
    assert pod.run(packed).out == "1\n"
