"""The address of a ticket in email: it has no secret, and opens the ticket for its requester after signing in."""

import re

import pytest

from tests.help_center.customers.conftest import HOST, Desk, mail


@pytest.fixture(scope="module")
def group(desk: Desk) -> int:
    return int(desk.api.ids["support"])


def new_snippet(desk: Desk, title: str) -> int:
    fields = {"context": "ticket", "content": "See {{ticket_url}}", "owner__context": "worker"}
    return int(desk.api.create("snippet", title=title, owner_id=desk.api.ids["nora"], **fields).ok()["id"])


def url(ticket: dict[str, object]) -> str:
    return f"https://{HOST}/requests/{ticket['mask']}"


def text_of(desk: Desk) -> str:
    part = desk.mail().get_body(("plain",))
    assert part is not None
    return str(part.get_content())


def test_an_acknowledgement_carries_the_link(desk, group):
    fields = {"ack_enabled": 1, "ack_text": "Thank you.\n\n{{ticket_url}}"}
    desk.api.update("group", group, **fields).ok()
    ticket = desk.ticket("ann@kite.example")
    assert url(ticket) in text_of(desk)
    visitor = desk.browser()
    page = visitor.get(f"/requests/{ticket['mask']}")
    assert page.headers["Location"] == f"/sign-in?next=%2Frequests%2F{ticket['mask']}", "a sign-in, not the ticket"
    desk.ask(visitor, "ann@kite.example", f"/requests/{ticket['mask']}")
    assert visitor.send("POST", desk.link()).headers["Location"] == f"/requests/{ticket['mask']}"
    assert "It leaks." in visitor.texts(f"/requests/{ticket['mask']}")
    desk.api.update("group", group, ack_enabled=0).ok()


@pytest.mark.parametrize("format", ["", "markdown", "html"])
def test_replies_end_with_the_link_if_the_group_says_so(desk, group, format):
    ticket = desk.ticket("ann@kite.example")
    desk.answer(ticket, "Without a link", content_format=format)
    assert "/requests/" not in text_of(desk)
    desk.api.update("group", group, links_to_requests=1).ok()
    try:
        desk.answer(ticket, "With a link\n#original_message", content_format=format)
        parsed = desk.mail()
        plain, html = (parsed.get_body((kind,)) for kind in ("plain", "html"))
        text = str(plain.get_content()) if plain is not None else ""
        assert text.count(url(ticket)) == 1 and text.index("With a link") < text.index(url(ticket)) < text.index(
            "Without"
        )
        assert (html is None) == (format == "")
        assert html is None or f'href="{url(ticket)}"' in str(html.get_content())
        desk.answer(ticket, f"Once: {url(ticket)}", content_format=format)
        assert text_of(desk).count(url(ticket)) == 1
    finally:
        desk.api.update("group", group, links_to_requests=0).ok()


def test_a_snippet_and_a_signature_have_the_link(desk, group):
    api, ticket = desk.api, desk.ticket("ann@kite.example")
    snippet = new_snippet(desk, "Link")
    pasted = api.get(f"/rest/snippets/{snippet}/paste.json", context_id=ticket["id"])
    assert url(ticket) in pasted.response.text
    owner = {"owner__context": "group", "owner_id": group}
    text = "Support\n{{ticket_url}}"
    signature = api.create("email_signature", name="With link", signature=text, **owner).ok()["id"]
    api.update("group", group, reply_signature_id=signature).ok()
    desk.answer(ticket, "Hello\n#signature", content_format="markdown")
    parsed = desk.mail().get_body(("html",))
    assert parsed is not None and re.search(rf'href="{re.escape(url(ticket))}"', str(parsed.get_content()))
    api.update("group", group, reply_signature_id=0).ok()


@pytest.mark.parametrize("format", ["", "markdown", "html"])
def test_a_composed_message_opens_its_ticket_for_its_requester(desk, group, format):
    text = "Your order is here: {{ ticket_url }}. {{name}} stays."
    composed = desk.api.compose(
        to="ann@kite.example", subject="Order", content=text, group_id=group, content_format=format
    ).ok()
    ticket = desk.api.record("ticket", composed["id"]).ok().json
    parsed = desk.mail()
    plain, html = (parsed.get_body((kind,)) for kind in ("plain", "html"))
    assert (
        plain is not None and url(ticket) in str(plain.get_content()) and "{{name}} stays" in str(plain.get_content())
    )
    assert (html is None) == (format == "")
    assert html is None or f'href="{url(ticket)}"' in str(html.get_content()) or format == "html"
    ann = desk.signed_in("ann@kite.example", f"/requests/{ticket['mask']}")
    assert "Your order is here" in ann.texts(f"/requests/{ticket['mask']}")
    desk.api.parse(mail("eve@evil.example")).ok()
    eve = desk.signed_in("eve@evil.example", f"/requests/{ticket['mask']}")
    assert eve.get(f"/requests/{ticket['mask']}").status_code == 404


def test_a_composed_message_gets_the_link_from_a_signature_a_snippet_and_its_group(desk, group):
    api = desk.api
    values = {"to": "ann@kite.example", "subject": "Order", "group_id": group, "content_format": "markdown"}
    owner = {"owner__context": "group", "owner_id": group}
    signature = api.create("email_signature", name="Composed", signature="Us\n{{ticket_url}}", **owner).ok()["id"]
    api.update("group", group, reply_signature_id=signature).ok()
    ticket = api.record("ticket", api.compose(content="Hi\n#signature", **values).ok()["id"]).ok().json
    assert url(ticket) in text_of(desk)
    api.update("group", group, reply_signature_id=0, links_to_requests=1).ok()
    try:
        ticket = api.record("ticket", api.compose(content="Hi", **values).ok()["id"]).ok().json
        assert text_of(desk).count(url(ticket)) == 1
    finally:
        api.update("group", group, links_to_requests=0).ok()
    fields = {"content": "See {{ticket_url}}", "owner__context": "worker", "owner_id": api.ids["nora"]}
    plain = api.create("snippet", title="For new tickets", **fields).ok()["id"]
    pasted = api.get(f"/rest/snippets/{plain}/paste.json").ok()
    assert "See {{ticket_url}}" in pasted.response.text, "it waits for its ticket"
    desk.answer(ticket, "Again: {{ticket_url}}")
    assert url(ticket) in text_of(desk)


def test_a_scheduled_message_has_the_address_of_the_ticket_that_it_becomes(desk, group):
    """The address is that of the ticket, even if another ticket has taken its number."""
    ids = []
    for number in range(2):
        values = {"to": f"ann{number}@kite.example", "subject": "Later", "group_id": group, "send_at": "+1 day"}
        ids.append(desk.api.compose(content="At {{ticket_url}}", **values).ok()["id"])
    for draft in ids:
        assert desk.api.put(f"/rest/records/draft/{draft}.json", **{"fields[queue_delivery_date]": 1}).ok()
    texts = {text_of(desk) for _ in ids}
    masks = {re.search(rf"https://{HOST}/requests/(\S+)", text)[1] for text in texts}
    assert len(masks) == 2
    assert all(desk.api.found("ticket", f"mask:{mask} subject:Later") for mask in masks)


def test_a_composed_message_without_such_a_help_center_is_refused(desk, group):
    api = desk.api
    values = {"to": "ann@kite.example", "subject": "Order", "group_id": group}
    api.update("brand", desk.ids["brand"], has_requests=0).ok()
    try:
        refused = api.compose(content="See {{ticket_url}}", **values)
        assert refused.status == 422 and refused["errors"][0]["field"] == "content", refused.response.text
        assert "customers of this group do not see their requests" in refused["message"]
        api.compose(content="See {{name}}", **values).ok()
        assert "{{name}}" in text_of(desk)
    finally:
        api.update("brand", desk.ids["brand"], has_requests=1).ok()


def test_the_placeholder_keeps_its_meaning_where_customers_see_no_requests(desk, group):
    api, ticket = desk.api, desk.ticket("ann@kite.example")
    snippet = new_snippet(desk, "Link 2")
    api.update("brand", desk.ids["brand"], has_requests=0).ok()
    try:
        pasted = api.get(f"/rest/snippets/{snippet}/paste.json", context_id=ticket["id"])
        assert url(ticket) not in pasted.response.text
    finally:
        api.update("brand", desk.ids["brand"], has_requests=1).ok()


def test_a_forwarded_link_shows_nothing_to_another_customer(desk):
    ticket = desk.ticket("ann@kite.example", text="Only for Ann")
    desk.api.parse(mail("eve@evil.example")).ok()
    eve = desk.signed_in("eve@evil.example", f"/requests/{ticket['mask']}")
    page = eve.get(f"/requests/{ticket['mask']}")
    assert page.status_code == 404 and "Only for Ann" not in page.text
