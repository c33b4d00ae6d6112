"""The table of custom fields in the help: each value is sent, and is returned as the table says."""

import json
import re
from typing import Any

import pytest

from server.record_types.shared.custom.definitions import KINDS
from tests.api.post import upload
from tests.service import Api
from tests.test_help_examples import HELP

TEXT = (HELP / "types.md").read_text("utf-8").partition("\n## Custom fields\n")[2].partition("\n## ")[0]
CELL = r" *(?:`(.*?)`)? *"
ROWS = re.findall(rf"^\| `([\w.]+)` \| [^|]* \|{CELL}\|{CELL}\|{CELL}\|{CELL}\|$", TEXT, re.MULTILINE)


@pytest.fixture(scope="module")
def ids(nora: Api) -> dict[str, str]:
    """Returns {placeholder of the table: id}."""
    return {
        "<org>": str(nora.create("org", name="Pointed at").ok()["id"]), "<worker>": str(nora.ids["milo"]),
        "<file>": str(upload(nora, "plan.txt", b"plan")),
    }  # fmt: skip


def test_every_kind_is_in_the_table() -> None:
    assert [kind for kind, *_ in ROWS] == list(KINDS)


@pytest.mark.parametrize("row", ROWS, ids=[kind for kind, *_ in ROWS])
def test_a_value_is_returned_as_the_table_says(nora: Api, ids: dict[str, str], row: tuple[str, ...]) -> None:
    kind, params, sent, text, value = row
    uri = f"help_{kind.rpartition('.')[2]}".lower()
    fields: dict[str, Any] = {"context": "org", "name": f"Help {kind}", "type": kind, "uri": uri}
    made = nora.create("custom_field", **fields, params=json.loads(params or "{}")).ok()["id"]
    try:
        org = nora.create("org", name=f"With {uri}", **{uri: filled(sent, ids)}).ok()["id"]
        record = nora.record("org", org, expand="custom_").ok()
        assert record[f"custom_{made}"] == filled(text, ids)
        assert record["custom"][str(made)] == filled(value, ids)
        nora.update("org", org, **{f"custom_{made}": ""}).ok()
        emptied = nora.record("org", org, expand="custom_").ok()
        none = [] if text.startswith("[") else ""
        assert (emptied[f"custom_{made}"], emptied["custom"][str(made)]) == (none, None)
    finally:
        nora.remove("custom_field", made).ok()


def filled(text: str, ids: dict[str, str]) -> Any:
    for name, id in ids.items():
        text = text.replace(name, id)
    return json.loads(text)
