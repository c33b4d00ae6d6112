"""Values that a package gets without a prompt: its configured placeholders, and defaults of the service."""

import json
import secrets
import string
from dataclasses import replace
from typing import Any

from server.context import Context
from server.digits import whole_in
from server.errors import nearest
from server.packages.package_document import PackageDocument, Tree, at, bad
from server.packages.substitution import Substitution
from server.queries import query_run
from server.records.service_settings import DEFAULT_SENDER, DEFAULT_TRANSPORT, get
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction

KINDS = ("random", "data_query")
LETTERS = "".join(each for each in string.ascii_uppercase + string.digits if each not in "IO0")
RANDOM_CHARS = 8
MAX_RANDOM_CHARS = 255  # length of a random placeholder


def fill(ctx: Context, document: PackageDocument, substitution: Substitution, former: Tree) -> dict[str, str]:
    """Adds the configured placeholders to the values, in order. former: random values of the last import, {key: value}.
    Returns the random values. Raises Invalid if a data query or its check fails."""
    drawn: dict[str, str] = {}
    for each in document.placeholders:
        where = f"placeholder '{each['key'][:80]}'"
        params = each.get("params") or {}
        if not isinstance(params, dict):
            raise bad(f"{where}: params takes a map")
        kind = each.get("type")
        if kind not in KINDS:
            raise bad(f"{where}: '{str(kind)[:50]}' is not a type of placeholder{nearest(str(kind), KINDS)}")
        key = each["key"]
        if kind == "random":
            value = drawn[key] = str(former.get(key) or _random(params, where))
        else:
            value = _queried(ctx, params, where, substitution)
        substitution.values[key] = value
    return drawn


def _random(params: Tree, where: str) -> str:
    length = whole_in(str(params.get("length", RANDOM_CHARS)), 1, MAX_RANDOM_CHARS)
    if length is None:
        raise bad(f"{where}: length must be a whole number from 1 to {MAX_RANDOM_CHARS}")
    return "".join(secrets.choice(LETTERS) for _ in range(length))


def _queried(ctx: Context, params: Tree, where: str, substitution: Substitution) -> Any:
    query, validate, selector = (_text(params, name, where) for name in ("query", "validate", "selector"))
    with at(f"{where}: query"):
        results = query_run.evaluate(replace(ctx, steps=None), query)
    problem = substitution.script(validate, f"{where}: validate", results=results).strip()
    if problem:
        raise bad(f"{where}: {problem[:500]}")
    if not selector.strip():
        return results["data"]
    chosen = substitution.script(selector, f"{where}: selector", results=results)
    return _decoded(chosen, where) if params.get("format") == "json" else chosen


def _text(params: Tree, name: str, where: str) -> str:
    text = params.get(name) or ""
    if not isinstance(text, str):
        raise bad(f"{where}: {name} must be a text")
    return text


def _decoded(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise bad(f"{where}: what the selector gives is not JSON") from error


def defaults(ctx: Context, tx: Transaction) -> Tree:
    """Returns `default.*`: default group, bucket and sender of the service; 0 and "" for missing ones."""
    group_id = _default_id(tx, "group")
    sender_id = get(tx, DEFAULT_SENDER, 0)
    addresses: Any = table_named("address")
    email = tx.value(lambda: addresses.select(addresses.c.email).where(addresses.c.id == slot(0)), (sender_id,))
    return {
        "base_url": ctx.service.base_url,
        "group_id": group_id,
        "bucket_id": _default_id(tx, "bucket", group_id),
        "replyto_id": sender_id,
        "replyto_email": email or "",
        "mail_transport_id": get(tx, DEFAULT_TRANSPORT, 0),
    }


def _default_id(tx: Transaction, uri: str, group_id: int = 0) -> int:
    table: Any = table_named(uri)

    def build() -> Any:
        query = table.select(table.c.id).where(table.c.is_default == 1)
        return query.where(table.c.group_id == slot(0)) if uri == "bucket" else query

    return int(tx.value(build, (group_id,) if uri == "bucket" else ()) or 0)
