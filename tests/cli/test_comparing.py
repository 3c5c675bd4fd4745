"""Which run had which setting: `describe`, `get A B`, columns, order and CSV, all from one table."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests import terminal
from tests.cli.command import PROGRAM, Command

TRAIN = """
from trainer_infra.report import report

def train(rate: float, depth=3, note="plain"):
    value = {"0.5": float("nan"), "0.7": float("inf")}.get(str(rate), rate * 2)
    report(progress=100, auc=value, **({"f1": 1} if rate < 0.2 else {}))
"""
SCRIPT = "import sys; print(sys.argv)\n"
TOKEN = "hf_" + "abcDEFghiJKLmnoPQRstuVWXyz0123456789"


@pytest.fixture(scope="module")
def done(shared_cli: Command) -> Command:
    """Runs of a function with four rates, and one of a script."""
    shared_cli.write("sweep.py", TRAIN)
    shared_cli.write("script.py", SCRIPT)
    for name, rate in (("a", 0.1), ("b", 0.5), ("c", 0.3), ("d", 0.7)):
        given = ("--arg", f"rate={rate}", "--env", f"HF_TOKEN={TOKEN}", "--env", f"SIZE={name * 2}")
        assert shared_cli("run", "sweep.py:train", "--name", name, *given).code == 0
    assert shared_cli("run", "script.py", "--name", "s", "--", "--rate", "0.2", "data").code == 0
    return shared_cli


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def column(done: Command, *arguments: str, name: str = "name") -> list[str]:
    rows = csv.DictReader(io.StringIO(done("get", "-o", "csv", *arguments).out))
    return [each[name] for each in rows]


def test_describe_says_with_what_a_run_trained(done: Command) -> None:
    facts = dict(
        line.split(":", 1) for line in done("describe", "c").out.split("\n\n")[0].splitlines()
    )
    shown = {name: value.strip() for name, value in facts.items()}
    assert shown["Runtime"] == "plain-distributed"
    assert shown["Image"].startswith("python:")
    assert shown["Resources"] == "1 node"
    assert shown["Arguments"] == "rate=0.3"
    assert shown["Defaults"] == "depth=3 note=plain, as it was given none"
    assert shown["Variables"] == "HF_TOKEN=<secret> SIZE=cc"


def test_a_document_has_the_settings_and_no_text_that_looks_like_a_secret(done: Command) -> None:
    text = done("get", "c", "-o", "json").out
    found = json.loads(text)["settings"]
    assert found["arguments"] == {"rate": 0.3}
    assert found["defaults"] == {"depth": 3, "note": "plain"}
    assert (found["runtime"], found["secretArguments"]) == ("plain-distributed", False)
    for output in ("json", "yaml", "csv", "table"):
        asked = ("get", "--columns", "env,args,settings", "-o", output)
        assert TOKEN not in text + done(*asked).out + done("describe", "c").out


def test_columns_are_the_arguments_that_differ_and_every_metric(done: Command) -> None:
    head, *rows = table(done("get", "--columns", "args,metrics").out)
    assert head == ["NAME", "depth", "note", "rate", "1", "auc", "f1"]
    assert ["a", "3", "plain", "0.1", "-", "0.2", "1"] in rows
    assert ["s", "-", "-", "0.2", "data", "-", "-"] in rows
    head, *rows = table(done("get", "a", "b", "--columns", "args,env", "-o", "csv").out)
    assert head == ["name,rate,SIZE"], "what both have alike is not a column"


def test_a_column_is_asked_for_by_its_name(done: Command) -> None:
    found = json.loads(done("get", "a", "c", "--columns", "rate,auc,image", "-o", "json").out)
    assert [(each["name"], each["rate"], each["auc"]) for each in found["items"]] == [
        ("a", 0.1, 0.2),
        ("c", 0.3, 0.6),
    ]
    assert found["items"][0].keys() == {"name", "rate", "auc", "image"}
    exact = done("get", "a", "--columns", "args.rate,metrics.auc,env.SIZE", "-o", "csv").out
    assert exact == "name,rate,auc,SIZE\na,0.1,0.2,aa\n"
    unknown = done("get", "--columns", "rat")
    assert (unknown.code, unknown.out) == (1, "")
    assert "no run here has a column 'rat'; there are namespace, name, phase" in unknown.err
    assert "of args depth, note, rate" in unknown.err


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("auc", ["a", "c", "b", "d", "s"]),
        ("-auc", ["c", "a", "b", "d", "s"]),
        ("rate", ["a", "s", "c", "b", "d"]),
        ("-rate", ["d", "b", "c", "s", "a"]),
        ("-name", ["s", "d", "c", "b", "a"]),
        ("f1", ["a", "b", "c", "d", "s"]),
    ],
)
def test_runs_stand_by_a_column_and_those_without_a_number_are_last(
    done: Command, order: str, expected: list[str]
) -> None:
    assert column(done, f"--sort={order}") == expected
    shown = [row[1] for row in table(done("get", f"--sort={order}").out)[1:]]
    assert shown == expected
    listed = json.loads(done("get", f"--sort={order}", "-o", "json").out)["items"]
    assert [each["name"] for each in listed] == expected


def test_what_has_a_unit_is_ordered_by_its_number(done: Command) -> None:
    oldest_first = [each["name"] for each in json.loads(done("get", "-o", "json").out)["items"]]
    assert column(done, "--sort=created") == oldest_first
    shown = table(done("get", "--columns", "progress,age", "--sort=progress").out)
    assert shown[1][1] == "100%"
    assert shown[1][2].endswith(("s", "m"))
    several = done("get", "--sort=metrics")
    assert (several.code, several.out) == (1, "")
    assert several.err == "--sort takes the name of one column, and metrics is several\n"


def test_where_nothing_differs_it_is_said(done: Command) -> None:
    alike = done("get", "a", "c", "--columns", "settings,rate")
    assert alike.code == 0
    assert alike.err == "nothing differs between these runs in settings\n"


def test_csv_has_times_arguments_and_metrics_with_every_digit(done: Command) -> None:
    (row,) = csv.DictReader(io.StringIO(done("get", "a", "-o", "csv").out))
    assert (row["phase"], row["rate"], row["auc"], row["note"]) == (
        "Complete",
        "0.1",
        "0.2",
        "plain",
    )
    assert row["created"].startswith("20")
    (row, *_) = csv.DictReader(io.StringIO(done("get", "b", "d", "-o", "csv").out))
    assert row["auc"] == "nan"


def test_two_runs_stand_side_by_side_with_what_differs(done: Command) -> None:
    rows = table(done("get", "a", "b").out)
    assert rows[0] == ["NAME", "a", "b"]
    known = {row[0]: row[1:] for row in rows}
    assert known["PHASE"] == ["Complete", "Complete"]
    assert (known["rate"], known["SIZE"]) == (["0.1", "0.5"], ["aa", "bb"])
    assert (known["auc"], known["f1"]) == (["0.2", "nan"], ["1", "-"])
    assert known.keys().isdisjoint({"depth", "note", "RUNTIME", "IMAGE", "HF_TOKEN"})


def test_a_terminal_has_the_columns_that_there_is_room_for(done: Command) -> None:
    env = {name: value for name, value in done.env.items() if name != "COLUMNS"}
    command = [PROGRAM, "get", "--columns", "args,metrics,env,created,started,finished"]
    _, text = terminal.drawn(command, Path(done.folder), env, columns=60)
    lines = text.splitlines()
    assert max(map(len, lines[:-1])) <= 60
    assert lines[-1].startswith("no room for ")
    assert lines[-1].endswith("FINISHED: -o csv and -o json have all")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a", "--metrics", "--columns", "args"], "are about runs, a row each"),
        (["a", "--metrics", "-o", "csv"], "are about runs, a row each"),
        (["a", "b", "--metrics"], "about one run: give its NAME"),
        (["a", "b", "-A"], "--all-namespaces lists runs"),
        (["a", "b", "--stack", "dev"], "options that choose runs are for a list"),
    ],
)
def test_what_does_not_fit_is_refused(done: Command, arguments: list[str], told: str) -> None:
    refused = done("get", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert told in refused.err


def test_a_name_that_no_run_has_is_named_among_several(done: Command) -> None:
    missing = done("get", "a", "zzz")
    assert (missing.code, missing.out) == (1, "")
    assert "there is no run 'zzz'" in missing.err
