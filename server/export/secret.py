"""Secrets, which an export omits by default: each one gives access to an account or system.

Scripts, snippets and mails are content, even if their authors wrote secrets into them."""

from typing import Any

from server.record_types.record_type import Record

# {record type: columns, and keys of the maps in columns, as `params.password`}
SECRETS: dict[str, tuple[str, ...]] = {
    "automation_resource": ("token",),
    "connected_account": ("params",),
    "connected_service": ("params.client_secret",),
    "mail_transport": ("params.password",),
    "mailbox": ("password",),
    "oauth_app": ("client_secret_hash", "previous_secret_hash"),
    "outgoing_webhook": ("secret", "previous_secret", "headers", "address"),
    "webhook_listener": ("guid",),
}

# Further tables without secrets. Any other table counts as secret, since it may hold anything.
PLAIN_TABLES = frozenset(
    "automation_example automation_version console_preference deleted_field fieldset_use kb_placed "
    "list_columns metric_sample package_import queue_message report_subscription role_worker snippet_use "
    "spam_lesson spam_word".split()
)


def without_secrets(uri: str, record: Record) -> Record:
    """The record without its secrets."""
    values = dict(record)
    for path in SECRETS.get(uri, ()):
        column, _, key = path.partition(".")
        value: Any = values.get(column)
        if not key:
            values.pop(column, None)
        elif isinstance(value, dict):
            values[column] = {name: each for name, each in value.items() if name != key}
    return values
