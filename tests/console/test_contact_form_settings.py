"""Settings › Channels › Help center › Contact form: forms with their fields, switch, preview, codes to copy."""

import html
import re

from tests.console.visitor import Visitor, text_of
from tests.service import Api, Server

BASE = "/admin/help-center/contact-forms"


def brand_without_host(nora: Api) -> int:
    """A public brand below /help-center, of which there is one at most."""
    for each in nora.search("brand", "").ok()["results"]:
        if not each["host"]:
            nora.update("brand", each["id"], is_public=1).ok()
            return int(each["id"])
    return int(nora.create("brand", name="Contact brand", is_public=1).ok()["id"])


def test_an_administrator_builds_a_form_and_switches_it_on(signed_in: Visitor, nora: Api) -> None:
    brand = brand_without_host(nora)
    kind = nora.create(
        "custom_field", name="Kind of pump", context="ticket", type="D", uri="pump_kind", params={"options": ["A", "B"]}
    ).ok()["id"]
    number = nora.create("custom_field", name="Pump number", context="ticket", type="S", uri="pump_number").ok()["id"]
    new = f"{BASE}/new"
    values = {"name": "Write & ask", "brand_id": str(brand), "group_id": str(nora.ids["support"]), "has_files": "1"}
    rows = {
        "field_rows": "3",
        "field_0": str(kind),
        "required_0": "1",
        "field_1": str(number),
        "if_1": str(kind),
        "value_1": "C",
    }
    wrong = signed_in.send(new, values | rows, page=new)
    assert wrong.status_code == 422 and "is not a value of the field Kind of pump" in text_of(wrong.text)
    assert 'value="C"' in wrong.text and nora.found("contact_form", 'name:"Write & ask"') == []
    made = signed_in.send(new, values | rows | {"value_1": "B"}, page=new)
    assert made.status_code == 303, text_of(made.text)
    (id,) = nora.found("contact_form", 'name:"Write & ask"')
    one = f"{BASE}/{id}"
    stored = nora.record("contact_form", id).ok()
    assert [each["field_id"] for each in stored["form_fields"]] == [kind, number] and stored["is_on"] == 0
    assert "Write & ask" in text_of(signed_in.get(BASE).text)

    page = signed_in.get(one).text
    preview = re.search(r'href="([^"]*/contact\?preview=[^"]*)"', page)
    assert preview is not None and "data-contact-form" in page and "iframe" in page
    path = html.unescape(preview[1]).partition("/help-center")[2]
    assert signed_in.get("/help-center/contact").status_code == 404, "it is off"
    shown = signed_in.get(f"/help-center{path}")
    assert shown.status_code == 200 and "This is a preview" in shown.text and "Kind of pump" in shown.text
    forged = path[:-1] + ("b" if path.endswith("a") else "a")
    assert signed_in.get(f"/help-center{forged}").status_code == 404

    signed_in.send(f"{one}/switch", {"on": "1"}, page=one)
    assert signed_in.get("/help-center/contact").status_code == 200
    signed_in.send(one, values | rows | {"value_1": "B", "required_0": "", "name": "Ask"}, page=one)
    changed = nora.record("contact_form", id).ok()
    assert (changed["name"], changed["form_fields"][0]["is_required"], changed["is_on"]) == ("Ask", 0, 1)
    signed_in.send(f"{one}/switch", {"on": "0"}, page=one)
    assert signed_in.get("/help-center/contact").status_code == 404
    signed_in.send(f"{one}/delete", {}, page=one)
    assert nora.record("contact_form", id).status == 404
    if nora.record("brand", brand).ok()["name"] == "Contact brand":
        nora.remove("brand", brand).ok()  # other tests create one without a host


def test_a_worker_does_not_open_the_forms(server: Server, nora: Api) -> None:
    milo = Visitor(server.url)
    milo.sign_in("milo@desk.example")
    assert milo.get(BASE).status_code == 403 and milo.get(f"{BASE}/new").status_code == 403
