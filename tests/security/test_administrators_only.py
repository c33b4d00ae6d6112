"""Reads of pages for administrators check the worker themselves: a page or script that forgets the check is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from server.access import app_secrets
from server.automation import history, names
from server.automation.webhooks import received_calls, webhook_tokens
from server.context import Context
from server.errors import AdminOnly
from server.first_start import demo, setup
from server.packages import package_export
from server.people import rights_explained
from server.records import custom_fields, records
from server.sign_in import security
from server.upkeep import health
from server.web import webhook_site
from tests.records.desk import Desk

READS: dict[str, Callable[[Context], Any]] = {
    "secrets of an app": lambda ctx: app_secrets.of_app(ctx, {}),
    "the version of an automation": lambda ctx: history.number(ctx, 1),
    "the names in a script": lambda ctx: names.flagged_in(ctx, "start:"),
    "a delivery": lambda ctx: received_calls.one(ctx, 1),
    "deliveries": lambda ctx: received_calls.of_listener(ctx, 1, 1, 0),
    "the last delivery": lambda ctx: received_calls.newest(ctx, 1),
    "deliveries of all webhooks": lambda ctx: received_calls.overview(ctx, 0, 1),
    "what was hidden of a delivery": lambda ctx: received_calls.is_forgotten(ctx, 1),
    "a delivery once more": lambda ctx: webhook_site.replay(ctx, 1),
    "old addresses of a webhook": lambda ctx: webhook_tokens.former_of(ctx, 1),
    "a call of a webhook by hand": lambda ctx: webhook_tokens.log_call(ctx, 1),
    "a name for a field": lambda ctx: custom_fields.new_field(ctx, "ticket", "S", {"name": "Tier"}),
    "records as they are stored": lambda ctx: records.stored(ctx, "worker", [1]),
    "a record by what is stored": lambda ctx: records.id_of(ctx, "worker", id=1),
    "the demo data": demo.is_filled,
    "the steps of setting up": setup.remaining_steps,
    "a step of setting up": lambda ctx: setup.finish_step(ctx, "mail"),
    "records to export": lambda ctx: package_export.chosen(ctx, ["worker:1"]),
    "the rights of others": lambda ctx: rights_explained.rights_of(ctx, 1),
    "the sessions of others": lambda ctx: security.sessions_of(ctx, 1),
    "what waits": health.waiting,
    "the file of the database": health.database,
}


@pytest.fixture(scope="module")
def milo(desk: Desk) -> Context:
    """Acts as milo, who is not an administrator."""
    return desk.context(desk.people()["milo"])


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_worker_is_refused(read: Callable[[Context], Any], milo: Context) -> None:
    with pytest.raises(AdminOnly):
        read(milo)
