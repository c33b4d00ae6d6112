"""Brands: host names, groups, languages, footer links, and the addresses of their help centers."""

import dataclasses

import pytest

from server.errors import Conflict, Forbidden, Invalid
from server.record_types.shared import brands


def profiles(desk):
    return desk.read(brands.all_brands)


@pytest.fixture
def kite(desk, ids):
    return desk.create("brand", name="Kite", languages="de, en", group_ids=[ids["support"]])["id"]


def test_a_brand_is_read_as_its_pages_use_it(desk, ids, kite):
    links = "About us https://kite.example/about\nMail mailto:help@kite.example"
    desk.update("brand", kite, footer_links=links, accent="#0055aa", is_public=1)
    (brand,) = profiles(desk)
    assert brand.languages == ("de", "en") and brand.accent == "#0055aa" and brand.is_public
    assert brand.footer_links == (
        ("About us", "https://kite.example/about"),
        ("Mail", "mailto:help@kite.example"),
    )
    assert brands.brand_of_group([brand], ids["support"]) == brand


def test_a_new_brand_is_not_public_and_speaks_english(desk):
    desk.create("brand", name="Kite")
    (brand,) = profiles(desk)
    assert not brand.is_public and brand.languages == ("en",)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"host": "desk.example"}, "host name of base_url"),
        ({"host": "hooks.example"}, "host name of webhook_base_url"),
        ({"host": "help.example"}, "leave the host blank"),
        ({"host": "help.example:8200"}, "without a port"),
        ({"host": "https://help.example"}, "without a port"),
        ({"host": "127.0.0.1"}, "without a port"),
        ({"host": "a b.example"}, "without a port"),
        ({"languages": "en, xx"}, "'xx' is not a known language"),
        ({"languages": "en/../de"}, "is not a known language"),
        ({"accent": "red"}, "must match"),
        ({"accent": "#12345g"}, "must match"),
        ({"footer_links": "Imprint javascript:alert(1)"}, "needs a text and an address"),
        ({"footer_links": "https://kite.example"}, "needs a text and an address"),
        ({"footer_links": 'A https://kite.example/"onclick'}, "needs a text and an address"),
        ({"group_ids": [99999]}, "there is no group 99999"),
        ({"name": "a\nb"}, "must be one line"),
    ],
)
def test_what_no_brand_can_have_is_refused(desk, fields, said):
    own = desk.service.settings.replace(
        webhook_base_url="https://hooks.example", portal_base_url="https://help.example"
    )
    desk.service = dataclasses.replace(desk.service, settings=own)
    with pytest.raises(Invalid, match=said):
        desk.create("brand", **{"name": "Kite", "host": "a.example"} | fields)


def test_a_host_and_a_group_belong_to_one_brand(desk, ids, kite):
    with pytest.raises(Conflict, match="Kite has no host name either"):
        desk.create("brand", name="Larch")
    desk.create("brand", name="Larch", host="help.larch.example")
    with pytest.raises(Conflict, match="is the host name of the brand Larch"):
        desk.create("brand", name="Other", host="HELP.larch.example.")
    with pytest.raises(Conflict, match="Support works for the brand Kite"):
        desk.create("brand", name="Other", host="a.example", group_ids=[ids["support"]])
    desk.update("brand", kite, group_ids=[f"-{ids['support']}"])
    desk.create("brand", name="Other", host="a.example", group_ids=[ids["support"]])


def test_only_administrators_write_brands(desk, ids, kite):
    with pytest.raises(Forbidden):
        desk.update("brand", kite, by=ids["milo"], is_public=1)
    with pytest.raises(Forbidden):
        desk.create("brand", by=ids["milo"], name="Larch", host="a.example")


@pytest.mark.parametrize(
    ("portal", "base", "own", "hosts"),
    [
        ("", "https://desk.example/help-center", "https://help.kite.example", {"help.kite.example"}),
        (
            "https://help.example:8443",
            "https://help.example:8443",
            "https://help.kite.example:8443",
            {"help.example", "help.kite.example"},
        ),
    ],
)
def test_the_address_of_a_help_center(desk, kite, portal, base, own, hosts):
    desk.create("brand", name="Larch", host="help.kite.example")
    desk.service = dataclasses.replace(desk.service, settings=desk.service.settings.replace(portal_base_url=portal))
    assert [brands.address(desk.service, each) for each in profiles(desk)] == [base, own]
    assert brands.own_hosts(desk.service, brands.brand_hosts(desk.service).names) == hosts


def test_host_names_that_were_read_before_a_write_do_not_replace_newer_ones(desk):
    hosts = brands.brand_hosts(desk.service)
    before = desk.read(lambda tx: tx.version(brands.VERSION))
    desk.create("brand", name="Kite", host="help.kite.example")
    assert hosts.names == {"help.kite.example"}
    hosts.replace(before, frozenset())
    assert hosts.names == {"help.kite.example"}
    hosts.renew()
    assert hosts.names == {"help.kite.example"}
