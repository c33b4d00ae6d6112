"""Examples that the forms of new records start from."""

import pytest

from console.forms.examples import DATA_QUERIES, EXAMPLES, StartExample
from console.pages.automation.automations import start_examples
from console.pages.jump import PLACES
from server.automation import checker
from server.translation import Marked
from tests.api.minimal import MINIMAL
from tests.console.test_record_form import form_of
from tests.console.visitor import Visitor, place, text_of
from tests.service import Api

EXAMPLE_KEYS = [(uri, each.key) for uri, examples in EXAMPLES.items() for each in examples]


@pytest.mark.parametrize(("uri", "key"), EXAMPLE_KEYS)
def test_a_record_is_created_from_an_example(signed_in: Visitor, nora: Api, uri: str, key: str) -> None:
    path = PLACES.get(uri, f"/records/{uri}/{{}}").format("new")
    assert f'<option value="{key}">' in signed_in.get(path).text
    fields = form_of(signed_in, f"{path}?start={key}").fields
    if "calendar_id" in fields:
        fields["calendar_id"] = str(nora.create("calendar", **MINIMAL["calendar"](nora)).ok()["id"])
    response = signed_in.post(path, fields)
    assert response.status_code == 303, text_of(response.text.partition('id="summary"')[2])[:300]
    assert "Left out" not in text_of(signed_in.get(place(response)).text)


@pytest.mark.parametrize("example", start_examples(), ids=lambda each: each.key)
def test_an_automation_is_created_from_an_example(signed_in: Visitor, example: StartExample) -> None:
    script, policy = example.values["script"], example.values.get("policy_kata", "")
    assert checker.check(script) == checker.check_policy(policy) == []
    fields = form_of(signed_in, f"/automations/new?start={example.key}").fields
    assert fields["script"] == script and fields["extension_id"] == example.values["extension_id"]
    response = signed_in.post("/automations/new", {**fields, "name": f"start.{example.key}", "do": "save"})
    assert response.status_code == 303, text_of(response.text)[:500]


def test_a_webhook_starts_from_a_recipe(signed_in: Visitor) -> None:
    path = "/automations/webhooks/new"
    assert '<option value="contact-form">Receive a contact form' in signed_in.get(path).text
    assert "auto-close" not in signed_in.get(path).text
    assert place(signed_in.get(f"{path}?start=contact-form")) == "/automations/recipes/contact-form"


@pytest.mark.parametrize("example", DATA_QUERIES, ids=lambda each: each.key)
def test_a_data_query_starts_from_an_example(signed_in: Visitor, nora: Api, example: StartExample) -> None:
    page = signed_in.get(f"/api/data_query?start={example.key}").text
    assert example.values["q"] in text_of(page) and f'value="{example.key}" selected' in page
    nora.get("/rest/data/query.json", q=example.values["q"]).ok()


def test_the_texts_of_examples_are_messages() -> None:
    values = dict(EXAMPLES["snippet"][0].values)
    assert all(isinstance(each, Marked) for each in values.values())


def test_forms_without_examples_and_of_existing_records_offer_none(signed_in: Visitor, nora: Api) -> None:
    id = nora.create("snippet", **MINIMAL["snippet"](nora)).ok()["id"]
    for path in ("/records/task/new", f"/snippets/{id}"):
        assert 'name="start"' not in signed_in.get(path).text, path
