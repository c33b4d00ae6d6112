"""Owned records: assets, fieldsets, templates and signatures; the owners that a worker may name."""

import pytest

from server.errors import Forbidden, Invalid

APP = {"owner__context": "app", "owner_id": 0}


@pytest.fixture
def all_may(desk, ids):
    """Grants everyone every privilege, so that only ownership decides."""
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    return ids


def owned_by(uri, id):
    return {"owner__context": uri, "owner_id": id}


def fieldset(desk, by=0, **owner):
    return desk.create("custom_fieldset", by=by, name="Technical", context="task", **owner)


def test_the_service_owns_with_id_0(desk, ids):
    shown = fieldset(desk, **APP)
    assert (shown["owner__context"], shown["owner_id"]) == ("svc.contexts.app", 0)


@pytest.mark.parametrize(
    "owner", [owned_by("group", 99), owned_by("group", 0), owned_by("app", 3), owned_by("task", 1), owned_by("x", 1)]
)
def test_an_owner_must_exist_and_be_of_an_owning_type(desk, ids, owner):
    with pytest.raises(Invalid, match="owner"):
        fieldset(desk, **owner)


def test_a_worker_names_themself_a_group_they_manage_or_a_role_they_edit(desk, all_may):
    ids = all_may
    milo = ids["milo"]
    query = "firstName:milo"
    role = desk.create("role", name="Editors", editor_query_worker=query, reader_query_worker=query)["id"]
    other = desk.create("role", name="Others", editor_query_worker="firstName:olga")["id"]
    fieldset(desk, by=milo, **owned_by("worker", milo))
    fieldset(desk, by=milo, **owned_by("role", role))
    for owner in (APP, owned_by("worker", ids["olga"]), owned_by("group", ids["support"]), owned_by("role", other)):
        with pytest.raises(Forbidden):
            fieldset(desk, by=milo, **owner)
    desk.update("group", ids["support"], members={"manager": str(milo)})
    fieldset(desk, by=milo, **owned_by("group", ids["support"]))


def test_a_record_cannot_be_given_to_a_foreign_owner(desk, all_may):
    milo = all_may["milo"]
    own = fieldset(desk, by=milo, **owned_by("worker", milo))["id"]
    with pytest.raises(Forbidden):
        desk.update("custom_fieldset", own, by=milo, **owned_by("worker", all_may["olga"]))
    with pytest.raises(Forbidden):
        desk.update("custom_fieldset", own, by=all_may["olga"], name="Mine")
    desk.update("custom_fieldset", own, by=all_may["nora"], **APP)


def test_records_of_other_owners_are_not_readable(desk, all_may):
    ids = all_may
    own = fieldset(desk, by=ids["milo"], **owned_by("worker", ids["milo"]))["id"]
    open_to_all = fieldset(desk, **APP)["id"]
    assert desk.found("custom_fieldset", "", by=ids["olga"]) == [open_to_all]
    assert desk.found("custom_fieldset", "", by=ids["milo"]) == [own, open_to_all]


def test_records_of_a_deleted_owner_are_for_administrators(desk, all_may):
    ids = all_may
    own = fieldset(desk, by=ids["milo"], **owned_by("worker", ids["milo"]))["id"]
    desk.delete("worker", ids["milo"])
    assert desk.row("custom_fieldset", own)["owner_id"] == 0
    assert desk.found("custom_fieldset", "", by=ids["olga"]) == []
    assert desk.found("custom_fieldset", "", by=ids["nora"]) == [own]


def test_an_asset_without_owner_is_open_to_everyone(desk, all_may):
    milo, olga = all_may["milo"], all_may["olga"]
    asset = desk.create("asset", by=milo, name="Pump")["id"]
    desk.update("asset", asset, by=olga, name="Old pump")
    desk.update("asset", asset, by=olga, **owned_by("worker", olga))
    with pytest.raises(Forbidden):
        desk.update("asset", asset, by=milo, name="My pump")
    shown = desk.update("asset", asset, by=olga, owner__context="")
    assert (shown["owner__context"], shown["owner_id"]) == ("", 0)
    with pytest.raises(Invalid):
        desk.update("asset", asset, by=olga, owner_id=olga)


def test_only_administrators_create_templates(desk, all_may):
    with pytest.raises(Forbidden):
        desk.create("html_template", by=all_may["milo"], name="H", **owned_by("worker", all_may["milo"]))
    shown = desk.create("html_template", by=all_may["nora"], name="H", **APP)
    assert "owner_id" not in shown


def test_signatures_belong_to_the_service_or_a_group(desk, all_may):
    nora = all_may["nora"]
    with pytest.raises(Invalid, match="owner__context"):
        desk.create("email_signature", by=nora, name="S", signature="Yours", **owned_by("worker", nora))
    shown = desk.create("email_signature", by=nora, name="S", signature="Yours", owner__context="app")
    assert shown["owner_id"] == 0


def test_deleted_signatures_and_templates_are_removed_from_groups_and_buckets(desk, ids):
    signature = desk.create("email_signature", name="S", signature="Yours", **APP)["id"]
    template = desk.create("html_template", name="H", signature_id=signature, **APP)["id"]
    desk.update("group", ids["support"], reply_signature_id=signature, reply_html_template_id=template)
    bucket = desk.create("bucket", name="B", group_id=ids["support"], reply_html_template_id=template)["id"]
    desk.delete("email_signature", signature)
    assert desk.row("html_template", template)["signature_id"] == 0
    assert desk.record("group", ids["support"])["reply_signature_id"] == 0
    desk.delete("html_template", template)
    assert desk.record("group", ids["support"])["reply_html_template_id"] == 0
    assert desk.record("bucket", bucket)["reply_html_template_id"] == 0
