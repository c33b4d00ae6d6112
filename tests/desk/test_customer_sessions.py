"""Sessions and links of customers end in time."""

import pytest

from server.access.service_actor import own_context
from server.errors import Invalid
from server.help_center.customers import customer_sessions, customer_sign_in
from server.help_center.customers.customer_sessions import IDLE_SECONDS, SESSION_SECONDS
from server.help_center.customers.customer_sign_in import LINK_SECONDS, WAIT_SECONDS
from server.record_types.shared import brands
from server.record_types.shared.brands import BrandProfile
from server.records import records
from server.records.writing import RecordWriter
from server.sign_in.late_links import LateLink
from server.store.transaction import Transaction
from tests.desk.conftest import Post

EMAIL = "ann@kite.example"


@pytest.fixture
def brand(desk: Post) -> BrandProfile:
    ctx = desk.context(desk.nora)
    records.create(ctx, "brand", {"name": "Kite", "is_public": "1", "has_requests": "1"})
    records.create(ctx, "address", {"email": EMAIL})
    return desk.service.store.read(brands.all_brands)[0]


def test_a_session_ends_without_requests_and_after_its_lifetime(desk: Post, brand: BrandProfile) -> None:
    service, now = desk.service, desk.context().now
    (address,) = service.store.read(lambda tx: tx.find(service.registry.type("address").table, email=EMAIL))
    id = service.store.write(lambda tx: customer_sessions.create(tx, address[0], EMAIL, brand.id, now))
    session = customer_sessions.check(service, id, brand, now + IDLE_SECONDS - 1)
    assert session is not None and session.must_be_seen and session.customer.email == EMAIL
    assert customer_sessions.check(service, id, brand, now + IDLE_SECONDS) is None
    for at in range(now, now + SESSION_SECONDS, IDLE_SECONDS - 1):
        customer_sessions.record_use(service, session, at)
        assert customer_sessions.check(service, id, brand, at) is not None
    assert customer_sessions.check(service, id, brand, now + SESSION_SECONDS) is None


def test_a_link_works_for_15_minutes_after_it_was_mailed(desk: Post, brand: BrandProfile) -> None:
    service, now = desk.service, desk.context().now
    browser = customer_sign_in.request_link(
        service, brand, EMAIL, browser="", client="192.0.2.1", next_path="/requests", language="en", now=now
    )

    def mailed(at: int) -> str:
        def write(tx: Transaction) -> str:
            link = LateLink(0, 0, 0, customer_sign_in.KIND, 0, 1)
            return customer_sign_in.new_link(RecordWriter(own_context(service, at), tx), link, EMAIL)

        return service.store.write(write)

    former, sent = mailed(now), now + WAIT_SECONDS - 1
    link = mailed(sent)
    opened = customer_sign_in.open_link(service, brand, link, browser, sent + LINK_SECONDS - 1)
    assert opened is not None and opened.email == EMAIL
    assert customer_sign_in.open_link(service, brand, former, browser, sent) is None, "a newer one was mailed"
    assert customer_sign_in.open_link(service, brand, link, browser, sent + LINK_SECONDS) is None
    assert customer_sign_in.sign_in_by_link(service, brand, link, browser, "", sent + LINK_SECONDS) is None
    code = customer_sign_in.code_of(link)
    assert customer_sign_in.sign_in_by_code(service, brand, code, browser, "", sent + LINK_SECONDS) is None
    with pytest.raises(Invalid):
        mailed(now + WAIT_SECONDS)
    signed_in = customer_sign_in.sign_in_by_code(service, brand, code, browser, "", sent + LINK_SECONDS - 1)
    assert signed_in is not None and signed_in.next_path == "/requests"
