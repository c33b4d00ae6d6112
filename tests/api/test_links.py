"""Links and watchers over HTTP: visible from both ends, silent when nothing changes, recorded in the activity log."""

import pytest

from tests.api.minimal import made
from tests.service import Api


def links(api: Api, uri: str, id: int) -> dict[str, list[int]]:
    found = api.record(uri, id, "links").ok()["links"]
    assert isinstance(found, dict)
    return found


def entries(api: Api, uri: str, id: int) -> list[str]:
    """Returns the activity points of a record, oldest first."""
    found = api.search("activity_log", f"target.{uri}:(id:{id}) sort:id", limit=50).ok()["results"]
    return [each["activity_point"] for each in found]


def test_a_link_shows_on_both_records(api: Api) -> None:
    org, task = made(api, "org"), made(api, "task")
    api.update("task", task, links=[f"org:{org}"]).ok()
    assert links(api, "task", task) == {"svc.contexts.org": [org]}
    assert links(api, "org", org) == {"svc.contexts.task": [task]}
    api.update("org", org, links=[f"-svc.contexts.task:{task}"]).ok()
    assert links(api, "task", task) == links(api, "org", org) == {}


@pytest.mark.parametrize("name", ["org", "orgs", "organization", "svc.contexts.org", "ORG"])
def test_any_name_of_a_type_is_accepted(name: str, api: Api) -> None:
    org, task = made(api, "org"), made(api, "task")
    api.update("task", task, links=[f"{name}:{org}"]).ok()
    assert links(api, "task", task) == {"svc.contexts.org": [org]}


def test_additions_and_removals_mix_and_repetitions_are_ignored(api: Api) -> None:
    first, second, task = made(api, "org"), made(api, "org"), made(api, "task")
    api.update("task", task, links=[f"org:{first}", f"org:{first}", f"org:{second}"]).ok()
    api.update("task", task, links=[f"org:{second}", f"-org:{first}", f"-org:{first}", "-org:999999"]).ok()
    assert links(api, "task", task) == {"svc.contexts.org": [second]}
    assert entries(api, "task", task) == ["task.created", "connection.link", "connection.link", "connection.unlink"]
    assert entries(api, "org", first) == ["connection.link", "connection.unlink"]


def test_a_link_to_a_worker_adds_a_watcher(api: Api) -> None:
    task, milo = made(api, "task"), api.ids["milo"]
    before = api.as_("milo").search("notification").ok()["total"]
    api.update("task", task, links=[f"worker:{milo}"]).ok()
    watchers = api.record("task", task, "watchers").ok()["watchers"]
    assert list(watchers) == [str(milo)] and watchers[str(milo)]["first_name"] == "Milo"
    assert entries(api, "task", task)[-1] == "watcher.assigned"
    api.as_("milo").update("task", task, links=[f"-worker:{milo}"]).ok()
    api.as_("milo").update("task", task, links=[f"worker:{milo}"]).ok()
    assert entries(api, "task", task)[-2:] == ["watcher.unfollow", "watcher.follow"]
    assert api.as_("milo").search("notification").ok()["total"] == before + 1  # only for actions of others
    assert api.as_("milo").found("task", f"watchers:me id:{task}") == [task]


def test_a_record_cannot_be_linked_to_itself(api: Api) -> None:
    task = made(api, "task")
    api.update("task", task, links=[f"task:{task}"]).ok()
    assert links(api, "task", task) == {}


@pytest.mark.parametrize(
    "link",
    [
        "nosuch:1",
        "org:999999",
        "org:0",
        "org:",
        ":1",
        "org",
        "",
        "--org:1",
        "org:-1",
        "app:0",
        "-org:9999999999999999999",
        "org:9999999999999999999",
    ],
)
def test_an_impossible_link_is_refused_and_nothing_is_written(link: str, api: Api) -> None:
    task, org = made(api, "task"), made(api, "org")
    response = api.update("task", task, title="Changed", links=[f"org:{org}", link])
    assert (response.status, response["errors"][0]["field"]) == (422, "links"), response
    assert links(api, "task", task) == {} and api.record("task", task)["title"] != "Changed"


@pytest.mark.parametrize("uri", ["activity_log", "custom_field", "draft"])
def test_types_without_links_cannot_be_linked(uri: str, api: Api) -> None:
    task = made(api, "task")
    assert api.update("task", task, links=[f"{uri}:{made(api, uri)}"]).status == 422


def test_links_are_deleted_with_either_record(api: Api) -> None:
    org, task = made(api, "org"), made(api, "task")
    api.update("task", task, links=[f"org:{org}"]).ok()
    api.remove("org", org).ok()
    assert links(api, "task", task) == {}


def test_hidden_records_are_neither_linked_nor_shown(api: Api) -> None:
    hidden, org, olga = made(api, "ticket", group_id=api.ids["private"]), made(api, "org"), api.as_("olga")
    unknown, refused = (
        olga.update("org", org, links=["ticket:999999"]),
        olga.update("org", org, links=[f"ticket:{hidden}"]),
    )
    assert (refused.status, refused["__error"]) == (unknown.status, unknown["__error"]) == (422, "ERROR_PARAM_INVALID")
    api.update("org", org, links=[f"ticket:{hidden}"]).ok()
    olga.update("org", org, links=[f"-ticket:{hidden}"]).ok()
    assert links(api, "org", org) == {"svc.contexts.ticket": [hidden]}
    assert links(olga, "org", org) == {}
    for form in ("links~25", "links.ticket", "links:_label", "links.ticket:subject"):
        assert olga.record("org", org, form).ok()["links"] == []
        assert len(api.record("org", org, form).ok()["links"]) == 1
    for query in (f"id:{org} links:ticket", f"id:{org} links:any", f"id:{org} links.ticket:(id:>0)"):
        assert olga.found("org", query) == [] and api.found("org", query) == [org]
    assert olga.found("org", f"id:{org} links:none") == [org]
    assert entries(olga, "org", org) == [] and entries(api, "org", org) == ["connection.link"]


def test_watchers_are_not_notified_of_records_that_they_cannot_read(api: Api) -> None:
    org, olga = made(api, "org"), api.as_("olga")
    api.update("org", org, links=[f"worker:{api.ids['olga']}"]).ok()
    before = olga.search("notification").ok()["total"]
    hidden = made(api, "ticket", group_id=api.ids["private"], links=[f"worker:{api.ids['olga']}"])
    api.update("org", org, links=[f"ticket:{hidden}"]).ok()
    api.update("ticket", hidden, status="closed").ok()
    assert olga.search("notification").ok()["total"] == before
