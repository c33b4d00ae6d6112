"""Uses a client that openapi-python-client made: imports all of it, then calls it. Prints what it got, as JSON.

Arguments: the folder above the package, the URL of the service, a token. Run by test_made_clients.py."""

import base64
import importlib
import json
import pkgutil
import sys
from typing import Any

FOLDER, URL, TOKEN = sys.argv[1:]
sys.path.insert(0, FOLDER)
made: Any = importlib.import_module("helpdesk_client")
models: Any = importlib.import_module("helpdesk_client.models")
OPERATIONS = {
    name.rpartition(".")[2]: importlib.import_module(name)
    for _, name, is_package in pkgutil.walk_packages(made.__path__, "helpdesk_client.")
    if name.startswith("helpdesk_client.api.") and not is_package
}
CLIENT = made.AuthenticatedClient(base_url=URL, token=TOKEN)


def call(name: str, *arguments: Any, client: Any = CLIENT, **options: Any) -> Any:
    """What an operation answers, as the client understands it."""
    return OPERATIONS[name].sync(*arguments, client=client, **options)


def body(name: str, **values: Any) -> Any:
    """What an operation takes."""
    return getattr(models, name).from_dict(values)


me = call("workers_me")
groups = call("records_group_search", limit=50)
group_id = groups.results[0].id
fields = {"subject": "Kiln of python", "group_id": group_id}
ticket = call("records_ticket_create", body=body("RecordsTicketCreateBody", fields=fields))
read = call("records_ticket_retrieve", ticket.id, expand="group_")
closed = call("records_ticket_update", ticket.id, body=body("RecordsTicketUpdateBody", fields={"status": "closed"}))
found = call("records_ticket_search", q=f"id:{ticket.id}", limit=5, show_meta=True)
search = body("RecordsTicketSearchByPostBody", q=f"id:{ticket.id}", subtotals=["status"], show_results=False)
counted = call("records_ticket_search_by_post", body=search)
content = base64.b64encode(b"glaze\n").decode()
sent = body("AttachmentsUploadBody", file_name="glaze.txt", mime_type="text/plain", encoding="base64", content=content)
file = call("attachments_upload", body=sent)
downloaded = call("attachments_download", file.id)
new = {"group_id": group_id, "to": "ana@kiln.example", "subject": "Kiln of python", "content": "Hot."}
composed = call("tickets_compose", body=body("TicketsComposeBody", dont_send=True, **new))
reply = {"message_id": composed.initial_message_id, "content": "Cool.", "file_id": [file.id], "dont_send": True}
replied = call("tickets_reply", body=body("TicketsReplyBody", **reply))
asked = call("data_query", q="type:worklist.subtotals of:ticket by:[status]")
wrong = call("records_ticket_create", body=body("RecordsTicketCreateBody", fields={**fields, "subjct": "Kiln"}))
stranger = made.AuthenticatedClient(base_url=URL, token="wrong")
refused = call("workers_me", client=stranger)

print(json.dumps({
    "operations": len(OPERATIONS),
    "me": me.to_dict()["_type"],
    "created": ticket.subject,
    "read": [read.subject, read.group_id == group_id],
    "updated": closed.status,
    "found": [each.subject for each in found.results],
    "counted": [each.hits for each in counted.subtotals["status"]],
    "file": [file.name, file.mime_type],
    "bytes": downloaded.payload.read().decode(),
    "composed": composed.delivery.state,
    "replied": [replied.id == composed.id, replied.num_messages],
    "asked": asked.to_dict()["_"]["type"],
    "wrong": [type(wrong).__name__, wrong.to_dict()["__error"]],
    "refused": [type(refused).__name__, refused.to_dict()["__error"]],
}))  # fmt: skip
