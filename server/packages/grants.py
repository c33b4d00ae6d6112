"""Grants of a package: what its records allow people and programs to do, such as rights, sign-ins, acting scripts,
email, and messages in the name of others. The importer agrees to all of them, or nothing is created.

Records are described as they are after the import, so that no spelling of a field hides a grant."""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from server.contexts import APP, WORKER
from server.errors import Invalid, Required
from server.packages.package_document import Tree
from server.record_types.record_type import Record
from server.record_types.shared import scopes
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.records.writing import RecordWriter

MAX_NAMED = 20  # grants in an error; a dry run names all
EVERYTHING = "*"
# {record type: fields} whose values the author of a package must not know. The service or the importer chooses them.
SECRETS: dict[str, tuple[str, ...]] = {
    "automation_resource": ("token",),
    "connected_account": ("params",),
    "draft": ("token",),
    "mailbox": ("password",),
    "message": ("token",),
    "oauth_app": ("client_secret",),
    "outgoing_webhook": ("headers", "secret"),
    "webhook_listener": ("guid",),
    "worker": ("password",),
}
# {record type: keys of its params}, in the same way.
SECRET_PARAMS: dict[str, tuple[str, ...]] = {
    "connected_service": ("client_secret",),
    "mail_transport": ("password",),
}
# The fields of SECRETS that a prompt may request from the importer.
ENTERED: dict[str, tuple[str, ...]] = {
    "connected_account": ("params",),
    "mailbox": ("password",),
    "outgoing_webhook": ("headers",),
}
_CHOSEN_LATER = {
    "connected_account": "the credentials were left out; enter them after the import",
    "worker": "the password was left out; workers choose their own through a link",
}

Describer = Callable[[RecordWriter, str, Record], Iterable[str]]


def register(uris: Iterable[str], describe: Describer) -> None:
    """Registers the description of record types of a higher layer. describe: called with the writer, the uri and the
    record; returns verb phrases whose subject is the package."""
    for uri in uris:
        _DESCRIBERS[uri] = describe


def describe_record(writing: RecordWriter, uri: str, id: int) -> list[str]:
    """Returns the grants of a record that was just created, as verb phrases."""
    record = writing.record(uri, id) if uri in _DESCRIBERS else None
    return [] if record is None else describe(writing, uri, record)


def describe(writing: RecordWriter, uri: str, record: Record) -> list[str]:
    """Returns the grants of a record whose values may differ from the stored ones."""
    describer = _DESCRIBERS.get(uri)
    return [] if describer is None else [each for each in describer(writing, uri, record) if each]


def require_agreement(grants: list[str], is_agreed: bool) -> None:
    """Raises Required with the grants if the importer has not agreed to them."""
    if not grants or is_agreed:
        return
    more = f"; and {len(grants) - MAX_NAMED} more" if len(grants) > MAX_NAMED else ""
    raise Required(
        f"the package {'; it '.join(grants[:MAX_NAMED])}{more}. Send grants=1 to agree; dry_run=1 lists all of it",
        field="grants",
    )


def remove_secrets(uri: str, fields: Tree, entered: Tree) -> list[str]:
    """Removes the secrets that a package chose from the fields of a record. Returns descriptions of what was removed.

    entered: the secrets that the importer typed, in maps as in the fields; these stay."""
    notes = []
    for name in SECRETS.get(uri, ()):
        value = fields.pop(name, None)
        own = entered.get(name) if name in ENTERED.get(uri, ()) else None
        if own:
            fields[name] = own
        if value and value != own:
            notes.append(_CHOSEN_LATER.get(uri, f"{name} was left out; the service chooses its own"))
    if uri in SECRET_PARAMS and isinstance(fields.get("params"), str):
        with suppress(ValueError, RecursionError):  # the field itself refuses invalid JSON
            fields["params"] = json.loads(fields["params"])
    params, own_params = fields.get("params"), entered.get("params")
    if isinstance(params, dict):
        for name in SECRET_PARAMS.get(uri, ()):
            if isinstance(own_params, dict) and name in own_params:
                continue
            if params.pop(name, None):
                notes.append(f"{name} was left out of params; enter it after the import")
    return notes


# -- people and access -------------------------------------------------------------------------------------------------


def _worker(writing: RecordWriter, uri: str, worker: Record) -> Iterable[str]:
    address = writing.record("address", worker["email_id"])
    email = f" ({address['email']})" if address is not None else ""
    name = f"{writing.label('worker', worker['id'])}{email}"
    yield f"makes {name} an administrator" if worker["is_superuser"] else f"lets {name} sign in as a worker"


def _role(writing: RecordWriter, uri: str, role: Record) -> Iterable[str]:
    query = role["member_query_worker"].strip()
    whom = f"the workers that '{query}' finds" if query else "every worker"
    privileges = "all privileges" if role["privs_mode"] == "all" else "the privileges of its list"
    yield f"gives {privileges} to {whom} by the role {role['name']}"


def _app(writing: RecordWriter, uri: str, app: Record) -> Iterable[str]:
    try:
        parsed = scopes.parse(app["scopes"])
    except Invalid:
        parsed = {}
    is_wide = any(
        EVERYTHING in each.pattern for scope in parsed.values() if not scope.is_own for each in scope.endpoints
    )
    what = "everything that they may do" if is_wide else ", ".join(each.label for each in parsed.values()) or "nothing"
    yield f"lets the app {app['name']} ask workers for {what}"
    if app["service_worker_id"]:
        yield f"lets the app {app['name']} act as {writing.label('worker', app['service_worker_id'])} at any time"


def _group(writing: RecordWriter, uri: str, group: Record) -> Iterable[str]:
    rows: list[Any] = writing.tx.find(GROUP_MEMBER, group_id=group["id"])
    if rows:
        names = ", ".join(writing.label("worker", row[GROUP_MEMBER.position["worker_id"]]) for row in rows)
        yield f"puts {names} into the group {group['name']}"
    if group["is_default"]:
        yield f"makes {group['name']} the default group, where new tickets go"
    if group["ack_enabled"]:
        yield f"acknowledges new tickets of the group {group['name']} by email"


# -- mail --------------------------------------------------------------------------------------------------------------


def _address(writing: RecordWriter, uri: str, address: Record) -> Iterable[str]:
    if address["worker_id"]:
        yield f"makes {address['email']} an address of {writing.label('worker', address['worker_id'])}"
    if address["mail_transport_id"]:
        transport = writing.label("mail_transport", address["mail_transport_id"])
        yield f"sends email from {address['email']} through {transport}"


def _mailbox(writing: RecordWriter, uri: str, mailbox: Record) -> Iterable[str]:
    yield f"turns the email of {mailbox['username'] or mailbox['name']} at {mailbox['host']} into tickets"


def _outgoing_webhook(writing: RecordWriter, uri: str, webhook: Record) -> Iterable[str]:
    yield f"sends {webhook['events']} with their records to {webhook['url']}"


def _transport(writing: RecordWriter, uri: str, transport: Record) -> Iterable[str]:
    host = (transport["params"] or {}).get("host", "")
    yield f"adds the mail transport {transport['name']}" + (f", which sends email through {host}" if host else "")


def _draft(writing: RecordWriter, uri: str, draft: Record) -> Iterable[str]:
    author = writing.label("worker", draft["worker_id"]) or "the service"
    if draft["is_queued"]:
        yield f"sends an email to {draft['to'] or 'its recipients'} in the name of {author}"
    elif not _is_importer(writing, WORKER, draft["worker_id"]):
        yield f"adds a draft in the name of {author}"


def _article(writing: RecordWriter, uri: str, article: Record) -> Iterable[str]:
    if article["status"] == "published":
        yield f"publishes the help article {article['title']}"


# -- words in the name of others ---------------------------------------------------------------------------------------


def _message(writing: RecordWriter, uri: str, message: Record) -> Iterable[str]:
    ticket = writing.label("ticket", message["ticket_id"])
    if message["worker_id"]:
        author = writing.label("worker", message["worker_id"])
    else:
        author = writing.label("address", message["sender_id"])
    yield f"adds a message to the ticket {ticket} in the name of {author or 'nobody'}"


def _comment(writing: RecordWriter, uri: str, comment: Record) -> Iterable[str]:
    context, id = comment["author__context"], comment["author_id"]
    if context != APP and not _is_importer(writing, context, id):
        yield f"adds a comment in the name of {_author(writing, context, id)}"


def _activity(writing: RecordWriter, uri: str, entry: Record) -> Iterable[str]:
    if not _is_importer(writing, entry["actor__context"], entry["actor_id"]):
        author = _author(writing, entry["actor__context"], entry["actor_id"])
        yield f"writes into the activity log in the name of {author}"


def _notification(writing: RecordWriter, uri: str, notification: Record) -> Iterable[str]:
    if not _is_importer(writing, WORKER, notification["worker_id"]):
        yield f"notifies {writing.label('worker', notification['worker_id'])}"


def _is_importer(writing: RecordWriter, context: str, id: int) -> bool:
    importer = writing.ctx.actor.author
    return (context, id) == (importer.context, importer.id)


def _author(writing: RecordWriter, context: str, id: int) -> str:
    if context == APP:
        return "the service"
    record_type = writing.registry.find(context)
    return (writing.label(record_type.uri, id) if record_type is not None else "") or "nobody"


_DESCRIBERS: dict[str, Describer] = {
    "activity_log": _activity,
    "address": _address,
    "comment": _comment,
    "draft": _draft,
    "group": _group,
    "kb_article": _article,
    "mail_transport": _transport,
    "mailbox": _mailbox,
    "message": _message,
    "notification": _notification,
    "oauth_app": _app,
    "outgoing_webhook": _outgoing_webhook,
    "role": _role,
    "worker": _worker,
}
