"""The API requests that are equivalent to the forms of a ticket, for *API* below the page."""

from typing import Any

from console.html.ui import Sample
from console.tickets.reply_form import ReplyForm


def of_reply(written: ReplyForm) -> Sample:
    """Returns the request that sends a reply or a forward with the values of the form."""
    fields = [("message_id", str(written.message_id)), *_fields(written)]
    fields += [("is_forward", "1"), ("with_original", "0")] if written.kind == "forward" else []
    return Sample("POST", "/rest/tickets/reply.json", fields)


def of_compose(written: ReplyForm, group_id: str) -> Sample:
    """Returns the request that creates a ticket with the values of the form."""
    bucket = bucket_of(written)
    return Sample(
        "POST",
        "/rest/tickets/compose.json",
        [("group_id", group_id or "1"), ("bucket_id", bucket or "1"), *_fields(written)],
    )


def bucket_of(written: ReplyForm) -> str:
    """Returns the chosen bucket of a new ticket, else the first one."""
    return written.form.text("bucket") or next((value for value, _place in written.choices.buckets), "")


def of_ticket(ticket: dict[str, Any], reply: ReplyForm | None) -> list[Sample]:
    """Returns the requests of a page of a ticket. reply: the reply form on it."""
    path = f"/rest/records/ticket/{ticket['id']}.json"
    messages = (("q", f"ticket.id:{ticket['id']}"), ("expand", "content"))
    samples = [Sample("GET", path), Sample("GET", "/rest/records/message/search.json", messages)]
    samples += [of_reply(reply)] if reply is not None else []
    samples.append(Sample("PUT", path, (("fields[status]", "waiting"), ("fields[reopen_at]", "mon 9am"))))
    samples.append(Sample("POST", f"/rest/tickets/{ticket['id']}/comment.json", (("comment", "..."),)))
    return samples


def _fields(written: ReplyForm) -> list[tuple[str, str]]:
    get = written.form.text
    fields = [("content", get("content").strip() or "..."), ("content_format", "markdown")]
    fields += [(name, get(name)) for name in ("to", "cc", "bcc", "subject", "reopen_at", "send_at") if get(name)]
    fields += [("status", get("status"))] if get("status") else []
    return [*fields, *(("file_id[]", id) for id in written.file_ids)]
