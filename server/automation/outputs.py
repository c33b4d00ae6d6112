"""Describes the `output:` of each command, for the help page and for tests that compare it with actual runs."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from server import contexts
from server.dataclass import dataclass

ANY_KEY = "..."  # in keys: any other key; the note describes them


@dataclass(frozen=True)
class CommandOutput:
    """The output of a command. holds: a description. keys: {key: description} of a map; a final `?` marks an optional
    key. example: one output."""

    holds: str
    example: Any
    keys: Mapping[str, str] = field(default_factory=dict)


_KEYS_OF_RECORD = {
    "_context": "The context of its type.",
    "_label?": "Its label.",
    "id": "Its id.",
    ANY_KEY: "Each key of its type, as listed on the page of the type; keys that are not loaded yet "
    "are loaded when read: `owner_first_name`.",
}
_TASK = {"_context": contexts.TASK, "_label": "Call Ana", "id": 7, "title": "Call Ana", "status": "open"}
_TICKET = {"_context": contexts.TICKET, "id": 17}
_FILE = "svc:automation_resource:6b1d"

OUTPUTS: dict[str, CommandOutput] = {
    "api.command": CommandOutput(
        "The result of the named function. For `svc.commands.oauth2.token.validate`: a map, "
        "empty for an unknown token.",
        {"token_id": 3, "token_type": "access", "token_created_at": 1795003200, "token_expires_at": 1795089600,
         "token_scopes": ["api"], "app__context": contexts.OAUTH_APP, "app_id": 0,
         "worker__context": contexts.WORKER, "worker_id": 1},
        {
            "token_id?": "The id of the token.", "token_type?": "Its kind.", "token_created_at?": "Unix seconds.",
            "token_expires_at?": "Unix seconds.", "token_scopes?": "A list of scopes.",
            "app__context?": "The context of OAuth apps.", "app_id?": "The app; further keys `app_` load.",
            "worker__context?": "The context of workers.", "worker_id?": "The worker; further keys `worker_` load.",
        },
    ),
    "data.query": CommandOutput(
        "A map, as the endpoint of data queries returns it.",
        {"data": [{"group__label": "Support", "count": 3}], "_": {"type": "worklist.subtotals"}},
        {"data": "Depends on the type and the format of the query.", "_": "A map: `type`, `format` and more."},
    ),
    "decrypt.pgp": CommandOutput("None: the command always fails.", None),
    "email.parse": CommandOutput(
        "The ticket, a map; false if the email created none.", _TICKET,
        {"_context": "The context of tickets.", "id": "The id of the ticket.", ANY_KEY: "Each key of a ticket loads."},
    ),
    "encrypt.pgp": CommandOutput("None: the command always fails.", None),
    "file.read": CommandOutput(
        "A map.",
        {"bytes": "sku,n\n", "uri": "svc:attachment:5", "name": "stock.csv", "offset_from": 0, "offset_to": 6,
         "mime_type": "text/csv", "size": 240},
        {
            "bytes": "The part as text; a data URI if it is not text.", "uri": "The file.", "name": "Its name.",
            "offset_from": "Its first byte.", "offset_to": "The byte after its last one.", "mime_type": "The type.",
            "size": "Bytes of the whole file.",
        },
    ),
    "file.write": CommandOutput(
        "A map.",
        {"uri": _FILE, "mime_type": "text/csv", "expires_at": 1795004100, "size": 6, "id": 2, "name": "stock.csv"},
        {
            "uri": "The reference by which other commands find it.", "mime_type": "The type.", "size": "Bytes.",
            "id": "Its id.",
            "expires_at": "Unix seconds; 0 for never.", "name?": "The name, if it has one.",
        },
    ),
    "function": CommandOutput(
        "The return value of the other automation.", {"is_known": True},
        {ANY_KEY: "The keys below `return:` of the function."}
    ),
    "http.request": CommandOutput(
        "A map. After a failure, it is also in `on_error:`, next to `error`, so you can "
        "distinguish 404 from 503 by `status_code`.",
        {"status_code": 200, "url": "https://shop.example/orders/7", "content_type": "application/json",
         "headers": {"content-type": "application/json"}, "body": '{"sku":"A-1"}'},
        {
            "status_code": "The status; 0 while a request is retried.", "url": "The address.",
            "content_type": "The type without parameters, in lower case.",
            "headers": "A map; names in lower case.",
            "body": "The text; a data URI if it is not text; the address of a resource if it is stored as one.",
            "is_data_uri?": "True if `body` is a data URI.",
            "is_svc_uri?": "True if `body` names an automation resource; `content_type` is then "
            "`application/vnd.svc.uri`.",
            "content_type_original?": "The MIME type of the resource.",
            "resource_expires?": "When the resource expires, in Unix seconds.",
            "is_retried?": "True if the request will be retried; the response to a retry is not returned.",
            "reason?": "Why it is retried.",
        },
    ),
    "kata.parse": CommandOutput("The parsed text, a map.", {"size": "7"}, {ANY_KEY: "The keys of the text."}),
    "metric.increment": CommandOutput("An empty list.", []),
    "queue.pop": CommandOutput(
        "A map. If the run fails, its messages become available again later.",
        {"consumer_id": "0x5c1b", "messages": {
            "9f0c": {"queue": "orders", "data": {"sku": "A-1"}, "available_at": 1795003200}}},
        {
            "consumer_id": "Identifies this batch of messages.",
            "messages": "A map by message, the longest waiting first; each has `queue`, `data` (the pushed "
                        "value) and `available_at`.",
        },
    ),
    "queue.push": CommandOutput("A list: the name of each message.", ["9f0c2a5d4b6e4c0d8a3f1b2c3d4e5f60"]),
    "record.create": CommandOutput("The record, a map.", _TASK, _KEYS_OF_RECORD),
    "record.delete": CommandOutput("The record as it was, a map.", _TASK, _KEYS_OF_RECORD),
    "record.get": CommandOutput("The record, a map.", _TASK, _KEYS_OF_RECORD),
    "record.search": CommandOutput(
        "A map of the records by id, in the order of the search; with `limit:1` the one record, or false.",
        {"7": _TASK}, {ANY_KEY: "The id of each record, with the record."},
    ),
    "record.update": CommandOutput("The record afterwards, a map.", _TASK, _KEYS_OF_RECORD),
    "record.upsert": CommandOutput("The record afterwards, a map.", _TASK, _KEYS_OF_RECORD),
    "signature.verify": CommandOutput(
        "A map. A wrong signature is a failure, and `is_valid` is false in `on_error:`.", {"is_valid": True},
        {"is_valid": "True."},
    ),
    "storage.delete": CommandOutput("Always true, even if there was no value.", True),
    "storage.get": CommandOutput("The value, or the `default`.", {"sku": "A-1"},
                                 {ANY_KEY: "The keys of a stored map."}),
    "storage.set": CommandOutput(
        "A map.", {"key": "shop.event.17", "expires": 1795089600, "is_stored": True, "value": "done"},
        {
            "key": "The key.", "expires": "Unix seconds; 0 for never.",
            "is_stored?": "With `if_absent`: whether this run stored it.",
            "value?": "With `if_absent`: what is stored now.",
        },
    ),
    "ticket.assign": CommandOutput(
        "A map.", {"owner_id": 7}, {"owner_id": "The worker; 0 if the ticket waits, because nobody is available."}
    ),
    "ticket.create": CommandOutput(
        "The ticket, a map; false if an automation refused it.", _TICKET,
        {"_context": "The context of tickets.", "id": "The id of the ticket.", ANY_KEY: "Each key of a ticket loads."},
    ),
    "ticket.macro": CommandOutput("What the macro returns.", {"note": "Done."}, {ANY_KEY: "The keys that it returns."}),
    "ticket.notify": CommandOutput(
        "A map.", {"worker_ids": [7, 12]}, {"worker_ids": "Ids of the workers that `to` means, without the owner of a "
                                            "ticket that has none."}
    ),
    "var.expand": CommandOutput("Null; the keys are loaded afterwards.", None),
    "var.push": CommandOutput("The list or map after the change.", ["red", "blue"], {ANY_KEY: "The keys of a map."}),
    "var.set": CommandOutput(
        "The value; false if a plain value was in the way.", "A-1", {ANY_KEY: "The keys of a map."}
    ),
    "var.unset": CommandOutput(
        "Whether there was a value; for a list of paths, a map by path.", True, {ANY_KEY: "The paths."}
    ),
}  # fmt: skip
