"""The page of the writing assistant for administrators: provider, test, groups, what left."""

import pytest

from tests.console.visitor import Visitor, text_of, value
from tests.model_server import KEY, MODEL, ModelServer
from tests.writing_assistant.conftest import BASE, Office


def sent(office: Office, do: str, **fields: str) -> str:
    """Submits the form of the provider; returns the text of the page that follows."""
    form = {"base_url": office.model.base_url, "model": MODEL, "api_key": "", "do": do, **fields}
    response = office.visitor.send(BASE, form)
    return text_of(response.text if response.status_code != 303 else office.visitor.get(BASE).text)


def test_a_test_says_what_the_provider_said_and_stores_nothing(office: Office) -> None:
    office.model.reply, office.model.key = "OK", "typed-key"
    page = sent(office, "test", api_key="typed-key", model=MODEL)
    for words in ("The test went well.", "responds.", "The key is accepted.", f"The model {MODEL} is offered.", "ms."):
        assert words in page, words
    assert "Enter the key again to save it" in page, "a field of a key is never filled in"
    page = sent(office, "test", model="other")
    assert "The test failed." in page and "refused the key (401)" in page, "the stored key is the old one"
    assert "Enter the key again" not in page
    assert value(office.visitor.get(BASE).text, "model") == MODEL
    assert "sent a test to" in " ".join(office.desk.acts(0))


def test_a_provider_that_is_down_fails_the_test(office: Office) -> None:
    other = ModelServer()
    other.stop()
    page = sent(office, "test", base_url=other.base_url, api_key="x")
    assert "The test failed." in page and "cannot be reached" in page


def test_the_key_is_never_sent_to_another_host(office: Office) -> None:
    """An administrator could otherwise read it by entering an address of their own."""
    other = ModelServer()
    for do in ("test", "save"):
        page = sent(office, do, base_url=other.base_url)
        assert "Enter the key again" in page or "enter the key again" in page
    assert other.requests == []
    assert "Provider saved" in sent(office, "save", base_url=other.base_url, api_key="new")
    other.stop()


def test_the_key_stays_when_the_field_is_blank_and_goes_when_asked(office: Office) -> None:
    ticket = office.ticket()
    sent(office, "save", model="larch-8b")
    office.run(ticket, "summarize")
    assert office.model.requests[-1][1]["authorization"] == f"Bearer {KEY}"
    sent(office, "save", has_no_key="1")
    office.run(ticket, "summarize")
    assert "authorization" not in office.model.requests[-1][1]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"base_url": ""}, "enter the address of the provider"),
        ({"base_url": "ftp://x"}, "is not http or https"),
        ({"base_url": "http://api.example/v1", "api_key": "k"}, "outbound_allow"),
        ({"base_url": "https://u:p@api.example/v1", "api_key": "k"}, "has a user name or password"),
        ({"base_url": "https://api.example/v1?key=1", "api_key": "k"}, "has no query"),
        ({"model": ""}, "enter the name of a model"),
        ({"model": "a\nb"}, "enter the name of a model"),
        ({"api_key": "a key"}, "not an API key"),
        ({"api_key": "k\u00e9y"}, "not an API key"),
    ],
)
def test_mistakes_are_shown_at_their_fields_and_nothing_is_stored(
    office: Office, fields: dict[str, str], words: str
) -> None:
    form = {"base_url": office.model.base_url, "model": MODEL, "api_key": "", "do": "save", **fields}
    response = office.visitor.send(BASE, form)
    assert response.status_code == 422 and words.lower() in text_of(response.text).lower()
    assert value(office.visitor.get(BASE).text, "base_url") == office.model.base_url


def test_a_whole_address_of_completions_is_cut(office: Office) -> None:
    sent(office, "save", base_url=f"{office.model.base_url}/chat/completions/")
    assert value(office.visitor.get(BASE).text, "base_url") == office.model.base_url


def test_groups_are_switched_by_name_logged_and_undone(office: Office) -> None:
    form = {"groups[]": [str(office.off)], "notes[]": [str(office.off)]}
    assert office.visitor.send(f"{BASE}/groups", form, page=BASE).status_code == 303
    assert office.nora.record("group", office.off)["writing_assistant"] == 1
    assert office.nora.record("group", office.off)["writing_assistant_notes"] == 1
    assert office.nora.record("group", office.on)["writing_assistant"] == 0
    assert "changed the group" in " ".join(office.desk.acts(0)[-2:])
    toast = office.visitor.get(BASE).text
    assert f'action="{BASE}/groups"' in toast and "Undo" in text_of(toast)


def test_removing_the_provider_switches_everything_off(office: Office) -> None:
    assert office.visitor.send(f"{BASE}/remove", page=BASE).status_code in (200, 303)
    office.visitor.send(f"{BASE}/remove", {"_ask": "x", "_sure": "1"}, page=BASE)
    page = office.visitor.get(BASE).text
    assert value(page, "base_url") == "" and "Enter a provider first" in text_of(page)


def test_only_administrators_open_it(office: Office) -> None:
    milo = office.signed_in("milo")
    for path in (BASE, f"{BASE}/calls"):
        assert milo.get(path).status_code == 403
    for path in (BASE, f"{BASE}/groups", f"{BASE}/remove"):
        assert milo.send(path, page="/account").status_code == 403
    assert Visitor(office.server.url).get(BASE).status_code == 303
