"""Requests generated from the OpenAPI document: none breaks the server, and every response matches the document.

The examples are the same in each run. EXAMPLES=50 in the environment generates more of them, and for every record
type. The generators are imported inside the functions: importing them takes a sixth of the import time of all tests,
and each process imports all modules to collect them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import conformance
from tests.service import ROOT, Api, Server, people

pytestmark = pytest.mark.exhaustive("requests generated for every operation")

MORE = int(os.environ.get("EXAMPLES", "0"))
EXAMPLES = MORE or 3
TYPES = frozenset(("attachment", "custom_field", "message", "ticket", "worker"))  # others behave like one of these
NAMED = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance",
]  # fmt: skip
KNOWN_IDS = 12  # generated ids are reduced modulo this, so that some refer to records


def operations() -> Iterator[Any]:
    """Yields the operations to call, as schemathesis objects: all, but only a few record types."""
    import schemathesis
    from hypothesis.configuration import set_hypothesis_home_dir
    from schemathesis.checks import load_all_checks

    load_all_checks()
    set_hypothesis_home_dir(ROOT / ".work" / "hypothesis")  # all files of the tools go to one folder
    schema = schemathesis.openapi.from_dict(conformance.own().content)
    for found in schema.get_all_operations():
        operation = found.ok()
        parts = operation.path.split("/")
        if MORE or parts[2] != "records" or parts[3] in TYPES:
            yield operation


@pytest.fixture
def alone(tmp_path) -> Iterator[Api]:
    """The administrator of a separate server, where everything may be changed."""
    server = Server(tmp_path / "data")
    client = server.set_up()
    people(client)
    yield client
    assert server.stop() == 0


def test_no_request_breaks_the_server_or_has_an_undocumented_answer(alone: Api) -> None:
    problems = []
    for operation in operations():
        try:
            _ask(operation, alone)
        except BaseExceptionGroup as failures:
            problems += [f"{operation.label}: {failures}"]
        except AssertionError as failure:
            problems += [f"{operation.label}: {failure}"]
    assert not problems, "\n\n".join(problems)
    client_is_known = alone.get("/rest/workers/me.json").status == 200
    assert client_is_known, "a request took the token away, so that those after it tell nothing"


# Endpoints of each family. Omitted endpoints revoke the token or resemble one of these.
AT_LIMITS = "^/rest/(records/ticket|contexts|tickets|groups/members|data|automations|webhooks|parser|customfields)/"


def test_values_at_the_limits_of_the_document_are_answered_as_it_says(alone: Api, tmp_path: Path) -> None:
    """Runs the tool's own values for each parameter: the smallest, the largest, one beyond, another type, and
    absent."""
    run = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", f"{alone.url}/openapi.json", "--phases", "coverage",
            "--checks", ",".join(NAMED), "--include-path-regex", AT_LIMITS, "--seed", "1", "--no-color",
            "--header", f"Authorization: Bearer {alone.token}", "--generation-database", "none",
        ],
        cwd=tmp_path, env=os.environ | {"HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path)}, capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-2_000:]
    assert alone.get("/rest/workers/me.json").status == 200, "the token was taken away, so that the rest tells nothing"


def _ask(operation: Any, client: Api) -> None:
    """Calls an operation; raises schemathesis' FailureGroup if the response does not match the document."""
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import CHECKS

    headers = {"Authorization": f"Bearer {client.token}"}
    checks = CHECKS.get_by_names(NAMED)

    @settings(
        max_examples=EXAMPLES, derandomize=True, deadline=None, database=None,
        phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        id = (case.path_parameters or {}).get("id")
        if isinstance(id, int):
            case.path_parameters["id"] = _id(id, operation.path, client)
        response = case.call(base_url=client.url, headers=headers, session=client.session)
        case.validate_response(response, checks=checks, headers=headers)

    ask()


def _id(id: int, path: str, client: Api) -> int:
    """Maps an id to one that may exist, except the ids of the caller and of the token's app."""
    found = id % KNOWN_IDS
    needed = {"worker": client.ids["nora"], "oauth_app": 1}.get(path.split("/")[3])
    return KNOWN_IDS if found == needed else found
