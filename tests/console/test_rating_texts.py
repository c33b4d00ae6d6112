"""The request for a rating in further languages, on the page of a group."""

from tests.console.visitor import Visitor, text_of
from tests.service import Api


def test_an_administrator_writes_the_request_in_further_languages(signed_in: Visitor, nora: Api) -> None:
    group = nora.create("group", name="Asks in languages").ok()["id"]
    one = f"/admin/people/groups/{group}"
    assert "The request for a rating in other languages" in text_of(signed_in.get(one).text)
    german = {"rating_language_0": "de", "rating_subject_0": "Ihr Urteil", "rating_text_0": "Guten Tag"}
    rows = {"rating_rows": "2", "rating_language_1": "pt_BR", "rating_subject_1": "Tudo bem?", "rating_text_1": ""}
    values = {"name": "Asks in languages"}
    wrong = signed_in.send(one, values | german | rows | {"rating_language_1": "xx"}, page=one)
    assert wrong.status_code == 422 and "'xx' is not a known language" in text_of(wrong.text).replace("\u2018", "'")
    assert 'value="xx"' in wrong.text and "Guten Tag" in wrong.text, "what was typed stays"
    assert nora.record("group", group).ok()["rating_texts"] == []

    assert signed_in.send(one, values | german | rows, page=one).status_code == 303
    stored = nora.record("group", group).ok()["rating_texts"]
    assert [(each["language"], each["subject"], each["text"]) for each in stored] == [
        ("de", "Ihr Urteil", "Guten Tag"),
        ("pt-BR", "Tudo bem?", ""),
    ]
    page = signed_in.get(one).text
    assert 'name="rating_language_2"' in page and 'value="pt-BR"' in page, "one more language can follow"
    # A form without these rows, as a client of the page before this version sends, changes no texts.
    assert signed_in.send(one, values, page=one).status_code == 303
    assert nora.record("group", group).ok()["rating_texts"] == stored
    gone = {"rating_rows": "2", "rating_language_1": "", "rating_subject_1": ""}
    assert signed_in.send(one, values | german | gone, page=one).status_code == 303
    assert [each["language"] for each in nora.record("group", group).ok()["rating_texts"]] == ["de"]
    nora.remove("group", group).ok()
