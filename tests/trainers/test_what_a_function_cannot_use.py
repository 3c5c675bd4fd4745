"""Functions that could not work in a pod are refused with whole sentences."""

import functools
from pathlib import Path

from tests.trainers.conftest import Load, Problems, Write
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

GIVE_FILE = 'or give the file: CustomTrainer("fit.py:train")'


def test_every_name_from_outside_is_named_with_its_line(module: Load, problems: Problems) -> None:
    fit = module(
        """
        import numpy_like as np
        from math import pi
        RATE = 0.1
        class Model: pass
        def helper(): pass

        def train(rate: "anything" = RATE, size: Model = None):
            model = Model()
            print([np.zeros(i) for i in range(3)], pi)
            def inner():
                return helper() + undefined
            return inner()
        """.replace("import numpy_like as np", "import json as np")
    )
    assert problems(CustomTrainer(fit.train)) == [
        (
            "fit.py:8: train: function train uses Model, which is defined outside of it; "
            f"define it inside the function, {GIVE_FILE}"
        ),
        (
            "fit.py:8: train: function train uses RATE, a variable outside of it; "
            f"pass it as an argument in func_args, {GIVE_FILE}"
        ),
        (
            "fit.py:10: train: function train uses np, which is imported outside of it; "
            f"import it inside the function, {GIVE_FILE}"
        ),
        (
            "fit.py:10: train: function train uses pi, a variable outside of it; "
            f"pass it as an argument in func_args, {GIVE_FILE}"
        ),
        (
            "fit.py:12: train: function train uses helper, which is defined outside of it; "
            f"define it inside the function, {GIVE_FILE}"
        ),
        (
            "fit.py:12: train: function train uses undefined, which is not defined anywhere; "
            f"import or define it inside the function, {GIVE_FILE}"
        ),
    ]


def test_a_programs_own_function_is_not_given_as_its_file(module: Load, problems: Problems) -> None:
    fit = module("import json\ndef train():\n    json.dumps(1)\n")
    fit.train.__module__ = "__main__"
    assert problems(CustomTrainer(fit.train)) == [
        (
            "fit.py:3: train: function train uses json, which is imported outside of it; import it "
            'inside the function, or move it to a file of its own: CustomTrainer("train.py:train")'
        )
    ]


def test_closures_and_decorators_are_named(module: Load, problems: Problems) -> None:
    fit = module(
        """
        import functools

        def timed(how):
            def wrap(function):
                @functools.wraps(function)
                def inner(*args):
                    return function(*args)
                return inner
            return wrap

        def outer(x):
            y = 2
            @timed(how="well")
            def train():
                nonlocal y
                y = x
            return train

        train = outer(1)

        @functools.cache
        def cached(): pass
        """
    )
    assert problems(CustomTrainer(fit.train)) == [
        'fit.py:15: train: function train is decorated with @timed(how="well"), which would not '
        f"travel with it; remove the decorator, {GIVE_FILE}".replace('"well"', "'well'"),
        (
            "fit.py:15: train: function train uses x, y of the function around it; "
            "pass what it needs as an argument in func_args, or define it inside"
        ),
    ]
    assert problems(CustomTrainer(fit.cached)) == [
        (
            "fit.py:23: train: function cached is decorated with @functools.cache, which would not "
            'travel with it; remove the decorator, or give the file: CustomTrainer("fit.py:cached")'
        )
    ]


def test_what_is_no_plain_function_is_refused(module: Load, problems: Problems) -> None:
    fit = module(
        """
        class Trainer:
            def fit(self): pass

        short = lambda: None

        async def waits(): pass

        def yields():
            if True:
                x = yield 1

        def fine():
            def inner(): yield 1
            return sum(lambda: (yield), inner())
        """
    )
    give = 'give a function, "train.py", "train.py:function" or "folder:main.py"'
    assert problems(CustomTrainer(fit.Trainer().fit)) == [
        (
            "fit.py:3: train: Trainer.fit is a method, and its object would not travel with it; "
            "write a function that makes the object and calls the method"
        )
    ]
    assert problems(CustomTrainer(fit.short)) == [
        (
            "fit.py:5: train: a lambda has no definition that could be shipped; "
            "write a function with def"
        )
    ]
    assert problems(CustomTrainer(fit.waits)) == [
        (
            "fit.py:7: train: function waits is async, and nothing would await it; "
            "make it a plain function that calls asyncio.run"
        )
    ]
    assert problems(CustomTrainer(fit.yields)) == [
        (
            "fit.py:9: train: function yields is a generator, so calling it runs nothing; "
            "make it a plain function without yield"
        )
    ]
    assert problems(CustomTrainer(functools.partial(fit.fine, 1))) == [
        "train: is functools.partial of fine; give fine itself, with its arguments in func_args"
    ]
    assert problems(CustomTrainer(print)) == [
        f"train: is not a function and not a path, got <built-in function print>; {give}"
    ]
    assert problems(CustomTrainer(3)) == [  # type: ignore[arg-type]  # wrong on purpose
        f"train: is not a function and not a path, got 3; {give}"
    ]
    CustomTrainer(fit.fine).pack()


def test_a_function_without_source_is_refused(module: Load, problems: Problems) -> None:
    space: dict[str, object] = {}
    exec("def train(): pass", space)
    fix = (
        "define it in a file that does not change while the program runs, or in a notebook's cell "
        "that begins with no %%magic"
    )
    assert problems(CustomTrainer(space["train"])) == [  # type: ignore[arg-type]  # wrong on purpose
        f"<string>:1: train: the source of function train cannot be found there; {fix}"
    ]
    fit = module("\n\ndef train(): pass\n")
    Path("fit.py").write_text("def other(): pass\n")
    assert problems(CustomTrainer(fit.train)) == [
        f"fit.py:3: train: the source of function train cannot be found there; {fix}"
    ]


def test_imports_of_files_beside_the_function_are_named(
    write: Write, module: Load, problems: Problems
) -> None:
    write("helpers.py", "")
    write("parts/__init__.py", "")
    fit = module(
        """
        def train():
            import json, helpers.sub
            from parts import x
            from . import y
            from trainer_infra.report import report
        """
    )
    folder = 'which would not travel with it; give the folder: CustomTrainer(".:fit:train")'
    assert problems(CustomTrainer(fit.train)) == [
        f"fit.py:3: train: function train imports helpers, {folder}",
        f"fit.py:4: train: function train imports parts, {folder}",
        f"fit.py:5: train: function train imports from its own package, {folder}",
    ]


def test_a_wrapper_is_not_dropped_silently(module: Load, problems: Problems) -> None:
    fit = module(
        """
        import functools
        def plain(): pass
        def loud(): print(1)
        wrapped = functools.update_wrapper(loud, plain)
        """
    )
    assert problems(CustomTrainer(fit.wrapped)) == [
        (
            "fit.py:3: train: function plain is wrapped by another one, which would not travel "
            "with it; give plain itself"
        )
    ]


def test_a_decorator_without_wraps_is_named_with_the_function_that_it_hides(
    module: Load, problems: Problems
) -> None:
    fit = module(
        """
        def times(number):
            def wrap(function):
                def inner(*args):
                    return [function(*args) for _ in range(number)]
                return inner
            return wrap

        @times(2)
        def train(): pass

        def outer():
            def helper(): pass
            def inner(): helper()
            return inner
        """
    )
    assert problems(CustomTrainer(fit.train)) == [
        (
            "fit.py:4: train: is inner, which the decorator @times puts around function train of "
            "fit.py:9, and which would not travel with it; remove the decorator from train, or "
            'give the file: CustomTrainer("fit.py:train")'
        )
    ]
    assert problems(CustomTrainer(fit.outer())) == [
        (
            "fit.py:14: train: function inner uses helper of the function around it; "
            "pass what it needs as an argument in func_args, or define it inside"
        )
    ]
