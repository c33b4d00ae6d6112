"""Endpoints of single types besides the common ones: notes, comments with files, custom fields, snippets."""

from typing import Any

from server.records import comments, records, type_descriptions
from server.tickets import snippets
from server.web.endpoint_call import EndpointCall, Response
from server.web.openapi import shapes
from server.web.rest.legacy.single import META, is_small, named_shape, sent_fields, with_names
from server.web.rest.records import EXPAND, expand_of, location
from server.web.routes import Parameter, endpoint

NOTED = (("contacts", "contact"), ("orgs", "org"), ("tasks", "task"))
COMMENT_NAMES = {
    "context": "target__context",
    "context_id": "target_id",
    "owner_context": "author__context",
    "owner_context_id": "author_id",
}
CUSTOM_FIELD = shapes.keys(
    id=shapes.ID,
    name=shapes.TEXT,
    type=shapes.TEXT,
    pos=shapes.COUNT,
    context=shapes.TEXT,
    custom_fieldset_id=shapes.ID,
    options=shapes.list_of(shapes.TEXT),
)
BY_NUMBER: shapes.Schema = {"type": "object", "patternProperties": {"^custom_[0-9]+$": CUSTOM_FIELD}}


def _note(path: str, uri: str) -> None:
    @endpoint(
        "POST",
        f"{path}/{{id}}/note",
        f"Write a comment on the {uri}.",
        "small write",
        Parameter("note", "string", "The text.", required=True),
        response=shapes.keys({f"{uri}_id": shapes.ID}, note_id=shapes.ID),
    )
    def note(call: EndpointCall) -> dict[str, Any]:
        note_id = comments.on_record(call.ctx, uri, call.id, call.params.text("note", ""), "note")
        return {f"{uri}_id": call.id, "note_id": note_id}


for path, uri in NOTED:
    _note(path, uri)


@endpoint(
    "POST",
    "comments/create",
    "Write a comment on a record, with files.",
    "small write",
    Parameter("context", "string", "The type of the record.", required=True),
    Parameter("context_id", "integer", "Its id.", required=True),
    Parameter("comment", "string", "The text.", required=True),
    Parameter("owner_context", "string", "The type of the author; worker when absent."),
    Parameter("owner_context_id", "integer", "The author; the caller when absent. Administrators may name another."),
    Parameter("file_id[]", "array", "Ids of files to attach."),
    Parameter("*", "mixed", "Further fields of the comment, each by its name, and custom_<id>."),
    EXPAND,
    META,
    is_small=is_small,
    response=shapes.Success(
        named_shape(shapes.record("comment")), headers={"Location": "The path of the new comment."}
    ),
)
def create_comment(call: EndpointCall) -> Response:
    sent = sent_fields(call, frozenset(("file_id",)))
    fields = {COMMENT_NAMES.get(name, name): value for name, value in sent.items()}
    id = comments.create(call.ctx, fields, call.params.id_list("file_id"))
    comment = records.retrieve(call.ctx, "comment", id, expand_of(call, "comment"))
    return Response(with_names(call, "comment", comment), headers={"Location": location(call, comment)})


@endpoint(
    "GET",
    "snippets/{id}/paste",
    "Render a snippet for a record. This counts as a use of the snippet.",
    "write",
    Parameter("context_id", "integer", "The id of the record, if the snippet requires one."),
    response=shapes.keys(text=shapes.TEXT),
)
def paste(call: EndpointCall) -> dict[str, Any]:
    return {"text": snippets.paste(call.ctx, call.id, call.params.id("context_id", 0) or 0)}


@endpoint(
    "GET",
    "customfields/{type}",
    "List the custom fields of a record type, by custom_<id>.",
    "read",
    Parameter("type", "string", "The record type, by any of its names."),
    response=BY_NUMBER,
)
def custom_fields(call: EndpointCall) -> dict[str, Any]:
    return type_descriptions.fields_of(call.ctx, call.arguments["type"])
