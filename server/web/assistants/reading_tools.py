"""Tools that search and read: tickets, customers, organizations and articles, in small pages."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from server.markup.readable_text import text_of_html
from server.record_types.shared.assistant_scopes import NOTES
from server.records import records
from server.records.records import SearchRequest
from server.search.query_parser import parse
from server.web.assistants.tool_declarations import ToolArgument, ToolCall, ToolResult, tool

ROWS, MAX_ROWS = 10, 25  # results on a page
MESSAGES, MAX_MESSAGES = 5, 20  # messages on a page
MAX_MESSAGE_CHARS = 4000  # length of a message or note
MAX_PAGE_CHARS = 24_000  # length of all messages on a page; the older ones are cut first
LEAST_CHARS = 200  # length that each message is left with
MAX_ARTICLE_CHARS = 12_000  # length of a part of an article
MAX_NOTES = 20  # notes on a page
TICKET_TYPES = ("ticket", "message", "address", "contact", "org", "worker", "group", "bucket", "tag", "ticket_status")
PEOPLE_TYPES = ("contact", "org", "address")
TICKET_KEYS = ("id", "mask", "subject", "status", "status_name", "importance", "owner_id", "group_id", "org_id")
TYPES = {"customer": "contact", "organization": "org"}
NEXT = "There is more: call again with the cursor {cursor}."
CURSOR = ToolArgument("cursor", "string", "next_cursor of an earlier page, for the results after it.")
LIMIT = ToolArgument("limit", "integer", f"Results on a page, at most {MAX_ROWS}; {ROWS} when absent.", most=MAX_ROWS)
QUERY = ToolArgument(
    "query",
    "string",
    "In the query language of the search: filter:value terms, words, sort:. Such as `status:open owner:me "
    "sort:-updated`, "
    '`org:(name:acme) created:"-7 days"`, `messages:(content:refund)`.',
)
TICKET = ToolArgument(
    "ticket_id", "integer", "The id of the ticket, as in the result of search_tickets.", required=True
)


@tool(
    "search_tickets",
    "Search tickets",
    "Search tickets with the query language. Returns one line for each ticket; read_ticket has its conversation.",
    "read",
    QUERY,
    LIMIT,
    CURSOR,
    reads=TICKET_TYPES,
    about="query",
    is_untrusted=True,
)
def search_tickets(call: ToolCall) -> ToolResult:
    page = _page(call, "ticket", "owner__label,group__label,tags", call.text("query"))
    rows = [_ticket(each) for each in page["results"]]
    return _listed(page, rows, [_ticket_line(each) for each in rows])


@tool(
    "read_ticket",
    "Read a ticket",
    "Read a ticket and a page of its conversation as text, the newest message first. Notes are included if the token "
    "has the scope mcp:notes.",
    "read",
    TICKET,
    ToolArgument(
        "limit", "integer", f"Messages on a page, at most {MAX_MESSAGES}; {MESSAGES} when absent.", most=MAX_MESSAGES
    ),
    CURSOR,
    reads=TICKET_TYPES,
    about="ticket_id",
    is_untrusted=True,
)
def read_ticket(call: ToolCall) -> ToolResult:
    ctx, id = call.ctx, call.number("ticket_id")
    found = records.retrieve(ctx, "ticket", id, "requesters,owner__label,group__label,tags")
    request = SearchRequest(
        f"ticket.id:{id} sort:-created,-id",
        call.number("limit", MESSAGES),
        expand="content,sender_email,worker__label",
        cursor=call.text("cursor"),
        has_next_cursor=True,
    )
    page = records.search(ctx, "message", request)
    left, entries = MAX_PAGE_CHARS, []
    for each in page["results"]:
        entries.append(_message(each, max(min(left, MAX_MESSAGE_CHARS), LEAST_CHARS)))
        left -= len(entries[-1]["text"])
    cursor = page["next"]
    if call.may(NOTES):
        oldest = page["results"][-1]["created"] if cursor else 0
        entries += _notes(call, id, oldest, _next_time(call, id, page["results"]))
        entries.sort(key=lambda each: (each["created"], each["id"]), reverse=True)
    requesters = [each["email"] for each in (found.get("requesters") or {}).values()]
    ticket = _ticket(found) | {"requesters": requesters, "url": found["url"], "messages": found["num_messages"]}
    head = [
        _ticket_line(ticket),
        f"Requesters: {', '.join(requesters)}",
        *([NEXT.format(cursor=cursor)] if cursor else []),
    ]
    lines = [_entry_text(call, each) for each in entries]
    return ToolResult(
        "\n\n".join(["\n".join(head), *lines]), {"ticket": ticket, "entries": entries, "next_cursor": cursor}
    )


@tool(
    "search_records",
    "Search customers or organizations",
    "Search customers (contacts) or organizations by words or with the query language.",
    "read",
    ToolArgument("type", "string", "What to search.", required=True, choices=tuple(TYPES)),
    QUERY,
    LIMIT,
    CURSOR,
    reads=PEOPLE_TYPES,
    about="query",
    is_untrusted=True,
)
def search_records(call: ToolCall) -> ToolResult:
    uri = TYPES[call.text("type")]
    page = _page(call, uri, "email_email,org__label", call.text("query"))
    rows = [_plain(each) for each in page["results"]]
    lines = [f"{each['id']}: {each['label']} {each.get('email', '')} {each.get('org', '')}".rstrip() for each in rows]
    return _listed(page, rows, lines)


@tool(
    "read_record",
    "Read a customer or an organization",
    "Read one customer (contact) or organization with its fields and custom fields.",
    "read",
    ToolArgument("type", "string", "What to read.", required=True, choices=tuple(TYPES)),
    ToolArgument("id", "integer", "Its id, as in the result of search_records.", required=True),
    reads=PEOPLE_TYPES,
    about="id",
    is_untrusted=True,
)
def read_record(call: ToolCall) -> ToolResult:
    found = records.retrieve(call.ctx, TYPES[call.text("type")], call.number("id"), "email_email,org__label,custom_")
    custom = {name: value for name, value in found.items() if name.startswith("custom_") and "__" not in name}
    row = _plain(found) | {name: value for name, value in custom.items() if value not in ("", None, 0, [])}
    return ToolResult("\n".join(f"{name}: {value}" for name, value in row.items()), row)


@tool(
    "search_articles",
    "Search articles",
    "Search the articles of the knowledge base by words. read_article has the text.",
    "read",
    ToolArgument("query", "string", "Words, or terms of the query language."),
    LIMIT,
    CURSOR,
    reads=("kb_article", "kb_category"),
    about="query",
)
def search_articles(call: ToolCall) -> ToolResult:
    page = _page(call, "kb_article", "", call.text("query"))
    rows = [{"id": each["id"], "title": each["title"], "updated": each["updated"]} for each in page["results"]]
    return _listed(page, rows, [f"{each['id']}: {each['title']}" for each in rows])


@tool(
    "read_article",
    "Read an article",
    "Read the text of an article, in parts if it is long.",
    "read",
    ToolArgument("article_id", "integer", "The id of the article.", required=True),
    ToolArgument("part", "integer", "The part of a long text, from 1.", most=2000),
    reads=("kb_article", "kb_category"),
    about="article_id",
)
def read_article(call: ToolCall) -> ToolResult:
    records.require_thread(call.ctx)  # a long text takes time
    found = records.retrieve(call.ctx, "kb_article", call.number("article_id"))
    text, part = text_of_html(found["content"]).strip(), call.number("part", 1)
    shown = text[(part - 1) * MAX_ARTICLE_CHARS : part * MAX_ARTICLE_CHARS]
    parts = max(-(-len(text) // MAX_ARTICLE_CHARS), 1)
    row = {"id": found["id"], "title": found["title"], "updated": found["updated"], "part": part, "parts": parts}
    return ToolResult(f"{found['title']} (part {part} of {parts})\n\n{shown}", row | {"text": shown})


def _page(call: ToolCall, uri: str, expand: str, q: str) -> dict[str, Any]:
    """Returns a page of a search. A `limit:` in the query may lower the limit, but not exceed MAX_ROWS."""
    limit = call.number("limit", ROWS)
    parsed = parse(q)
    if parsed.limit:
        limit = min(parsed.limit, MAX_ROWS)
        parsed = replace(parsed, limit=limit)
    request = SearchRequest(q, limit, expand=expand, cursor=call.text("cursor"), has_next_cursor=True)
    return records.search_parsed(call.ctx, uri, parsed, request)


def _listed(page: Mapping[str, Any], rows: list[dict[str, Any]], lines: list[str]) -> ToolResult:
    cursor, notes = page["next"], [str(each) for each in page.get("notes", ())]
    head = f"{page['total']} in all, {len(rows)} here."
    more = [NEXT.format(cursor=cursor)] if cursor else []
    data = {"results": rows, "total": page["total"], "next_cursor": cursor, **({"notes": notes} if notes else {})}
    return ToolResult("\n".join([head, *notes, *lines, *more]), data)


def _ticket(keys: Mapping[str, Any]) -> dict[str, Any]:
    labels = {"owner": keys.get("owner__label") or "", "group": keys.get("group__label") or ""}
    times = {"created": keys["created"], "updated": keys["updated"]}
    return {name: keys[name] for name in TICKET_KEYS} | labels | times | {"tags": list(keys.get("tags") or ())}


def _ticket_line(row: Mapping[str, Any]) -> str:
    status = row["status_name"] or row["status"]
    who = f"owner {row['owner'] or 'nobody'}, group {row['group']}"
    tags = f", tags {', '.join(row['tags'])}" if row["tags"] else ""
    return f"Ticket {row['id']} [{status}] {row['subject']} ({who}{tags})"


def _plain(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the filled fields of a contact or an organization, without addresses of pages and pictures."""
    filled = {
        name: value
        for name, value in keys.items()
        if value not in ("", None, 0, {})
        and not name.startswith(("_", "email_", "org_", "custom_"))
        and "__" not in name
    }
    filled.pop("record_url", None)
    more = {"email": keys.get("email_email"), "org": keys.get("org__label"), "org_id": keys.get("org_id")}
    return filled | {"label": keys["_label"]} | {name: value for name, value in more.items() if value}


def _message(keys: Mapping[str, Any], most: int) -> dict[str, Any]:
    text = str(keys.get("content") or "")
    is_out = bool(keys["is_outgoing"])
    who = (keys.get("worker__label") if is_out else "") or keys.get("from_name") or keys.get("sender_email") or ""
    kind = "reply" if is_out else "message"
    row = {"kind": kind, "id": keys["id"], "created": keys["created"], "from": who, "text": text[:most]}
    if not is_out:
        row["email"] = keys.get("sender_email") or ""
    return row | ({"cut": len(text) - most} if len(text) > most else {})


def _next_time(call: ToolCall, ticket_id: int, messages: list[dict[str, Any]]) -> int:
    """Returns the time of the oldest message on the previous, newer page; 0 on the first page."""
    if not call.text("cursor") or not messages:
        return 0
    later = f'ticket.id:{ticket_id} created:"{messages[0]["created"] + 1} to {call.ctx.now + 1}" sort:created'
    found = records.search(call.ctx, "message", SearchRequest(later, 1))["results"]
    return int(found[0]["created"]) if found else 0


def _notes(call: ToolCall, ticket_id: int, since: int, until: int) -> list[dict[str, Any]]:
    """Returns the newest notes from one instant to before another, 0 for no limit."""
    span = f' created:"{since} to {(until or call.ctx.now + 2) - 1}"' if since or until else ""
    request = SearchRequest(f"on.ticket:(id:{ticket_id}){span} sort:-created", MAX_NOTES, expand="author__label")
    found = records.search(call.ctx, "comment", request)["results"]
    return [
        {
            "kind": "note",
            "id": each["id"],
            "created": each["created"],
            "from": each.get("author__label") or "",
            "text": str(each["comment"])[:MAX_MESSAGE_CHARS],
        }
        for each in found
    ]


def _entry_text(call: ToolCall, entry: Mapping[str, Any]) -> str:
    at = datetime.fromtimestamp(entry["created"], call.ctx.tz).strftime("%Y-%m-%d %H:%M %Z")
    cut = f"\n[{entry['cut']} more characters]" if entry.get("cut") else ""
    return f"--- {entry['kind']} {entry['id']} by {entry['from']}, {at}\n{entry['text']}{cut}"
