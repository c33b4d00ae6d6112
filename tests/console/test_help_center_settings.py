"""Settings › Channels › Help center: brands by form, logo, switch, checklist, votes."""

from tests.api.fields_by_kind import png
from tests.console.visitor import Visitor, text_of
from tests.service import Api, Server

BASE = "/admin/help-center"


def test_an_administrator_creates_a_brand_with_a_logo_and_switches_it_on(signed_in: Visitor, nora: Api) -> None:
    new = f"{BASE}/new"
    group = nora.create("group", name="Pump repair").ok()["id"]
    nora.create("kb_article", title="Public pump", status="published").ok()
    form = {"name": "Kite Pumps", "host": "help.kite.example", "languages": "en, de", "accent": "#ffcc00"}
    wrong = signed_in.send(new, form | {"accent": "red", "footer_links": "Imprint"}, page=new)
    assert wrong.status_code == 422 and wrong.text.count('aria-invalid="true"') == 2
    token = signed_in.token(new)
    files = {"logo": ("logo.png", png(64, 64), "image/png")}
    made = signed_in.post(new, form | {"group_ids[]": str(group), "_xsrf": token}, files=files)
    assert made.status_code == 303, text_of(made.text)
    id = nora.found("brand", 'name:"Kite Pumps"')[0]
    brand = nora.record("brand", id).ok()
    assert brand["group_ids"] == [group] and not brand["_image_url"].endswith("?v=0") and brand["is_public"] == 0
    listed = text_of(signed_in.get(BASE).text)
    assert "http://help.kite.example" in listed and "What everybody will see" in listed
    signed_in.send(f"{BASE}/{id}/public", {"on": "1"}, page=BASE)
    assert nora.record("brand", id)["is_public"] == 1 and "What everybody sees" in text_of(signed_in.get(BASE).text)
    one = f"{BASE}/{id}"
    assert "Present logo" in signed_in.get(one).text
    signed_in.send(one, form | {"remove_logo": "1", "group_ids[]": str(group)}, page=one)
    assert nora.record("brand", id)["_image_url"].endswith("?v=0")
    signed_in.send(f"{one}/delete", {}, page=one)
    assert nora.record("brand", id).status == 404


def test_what_is_no_picture_is_refused_with_what_was_typed(signed_in: Visitor, nora: Api) -> None:
    new = f"{BASE}/new"
    form = {"name": "Larch Foods", "host": "help.larch.example", "_xsrf": signed_in.token(new)}
    wrong = signed_in.post(new, form, files={"logo": ("logo.png", b"<html>", "image/png")})
    problem = "is not a PNG, JPEG, GIF, WebP or SVG picture"
    assert wrong.status_code == 422 and problem in text_of(wrong.text) and "Larch Foods" in wrong.text
    assert nora.found("brand", 'name:"Larch Foods"') == []


def test_votes_have_their_comments(signed_in: Visitor, nora: Api) -> None:
    assert "No visitor has voted" in text_of(signed_in.get(f"{BASE}/votes").text)
    trial = nora.create("brand", name="Trial", is_public=1).ok()["id"]
    article = nora.create("kb_article", title="<b>Voted</b>", status="published").ok()["id"]
    vote = signed_in.post(f"/help-center/a/{article}/vote", {"helpful": "no", "comment": "<i>More</i> pictures"})
    assert vote.status_code == 303
    page = signed_in.get(f"{BASE}/votes").text
    assert "&lt;i&gt;More&lt;/i&gt; pictures" in page and "&lt;b&gt;Voted&lt;/b&gt;" in page
    nora.remove("brand", trial).ok()  # other tests link to the help center of another brand


def test_a_worker_does_not_open_the_settings(server: Server, nora: Api) -> None:
    milo = Visitor(server.url)
    milo.sign_in("milo@desk.example")
    assert milo.get(BASE).status_code == 403
