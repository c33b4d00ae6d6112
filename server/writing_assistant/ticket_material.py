"""The words of a ticket that may leave, and articles and earlier replies as sources for a draft.

What may be used is what the worker may read, of groups that are switched on. Notes leave only if the group also allows
that. Attachments, encrypted messages, quotations, signatures, addresses and internal articles never leave."""

import re
from collections import Counter
from collections.abc import Collection
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import Forbidden, NotFound
from server.help_center import article_links
from server.markup import quoted
from server.markup.readable_text import text_of_html
from server.people.types.group import WRITING_ASSISTANT, WRITING_ASSISTANT_NOTES
from server.record_types.kb_article import PUBLISHED
from server.record_types.shared import brands, paths
from server.records import records
from server.records.records import SearchRequest
from server.store import fulltext
from server.store.transaction import Transaction
from server.translation import N_
from server.writing_assistant import model_provider
from server.writing_assistant.model_text import without_contacts

MAX_MESSAGES = 20  # newest messages that are read
MAX_MESSAGE_CHARS = 6_000
MAX_NOTES = 20
MAX_GROUPS = 500
MAX_ARTICLES, MAX_REPLIES = 4, 3  # sources of a draft
MAX_SOURCE_CHARS = 3_000
MAX_CANDIDATES = 50  # records that words find, before they are compared
MAX_QUERY_WORDS = 8
LEAST_WORD_CHARS = 4
_WORD = re.compile(r"[^\W\d_]{3,40}")

Ticket = dict[str, Any]  # its keys in the API, with the requesters


@dataclass(frozen=True, slots=True)
class Passage:
    """A message or note that may leave. who: `customer`, `team` or `note`."""

    who: str
    text: str


@dataclass(frozen=True, slots=True)
class ModelSource:
    """An article or an earlier reply. path: of its page in the console. address: public one of an article, else
    blank."""

    kind: str
    id: int
    title: str
    path: str
    text: str
    address: str = ""


def is_offered(ctx: Context, ticket: Ticket) -> bool:
    """Returns whether the assistant can be used for a ticket: its group is switched on, a provider is stored, and the
    caller may reply. Reads nothing for a group that is off."""
    if not ticket.get(f"group_{WRITING_ASSISTANT}"):
        return False
    return model_provider.stored(ctx).is_set and records.may(ctx, "ticket", "update", ticket["id"])


def require_offered(ctx: Context, ticket_id: int) -> Ticket:
    """Returns the ticket. Raises NotFound, and Forbidden if its group is off, the caller may not reply, or there is no
    provider."""
    ticket = records.retrieve(ctx, "ticket", ticket_id, "requesters,group_")
    if not records.may(ctx, "ticket", "update", ticket_id):
        raise Forbidden(N_("the writing assistant is for workers who may reply to this ticket"))
    if not ticket.get(f"group_{WRITING_ASSISTANT}"):
        raise Forbidden(
            N_("the writing assistant is off for the group of this ticket; an administrator can turn it on")
        )
    if not model_provider.stored(ctx).is_set:
        raise Forbidden(N_("the writing assistant has no provider; an administrator can enter one"))
    return ticket


def conversation(ctx: Context, ticket: Ticket, most: int) -> list[Passage]:
    """Returns the newest messages of a ticket, oldest first, with notes if its group allows that. most: characters of
    all together, which the newest ones get first."""
    request = SearchRequest(f"ticket.id:{ticket['id']} sort:-created,-id", MAX_MESSAGES, 1, "content")
    messages = records.search(ctx, "message", request)["results"]
    entries = [(each["created"], each["id"], _passage(each)) for each in messages if _may_leave(each)]
    if ticket.get(f"group_{WRITING_ASSISTANT_NOTES}"):
        notes = records.search(
            ctx, "comment", SearchRequest(f"on.ticket:(id:{ticket['id']}) sort:-created", MAX_NOTES, 1)
        )["results"]
        entries += [(each["created"], each["id"], Passage("note", _cut(str(each["comment"])))) for each in notes]
    entries.sort(key=lambda each: each[:2], reverse=True)
    passages: list[Passage] = []
    for _at, _id, passage in entries:
        if not passage.text:
            continue
        if len(passage.text) > most:
            break
        most -= len(passage.text)
        passages.append(passage)
    return passages[::-1]


def one_message(ctx: Context, ticket: Ticket, message_id: int) -> str:
    """Returns the words of a message of a ticket. Raises NotFound, and Forbidden for an encrypted one."""
    message = records.retrieve(ctx, "message", message_id, "content")
    if message["ticket_id"] != ticket["id"]:
        raise NotFound(N_("this ticket has no such message"))
    if message.get("was_encrypted"):
        raise Forbidden(N_("this message was encrypted, so its text does not leave the helpdesk"))
    return _passage(message).text


def newest_customer_words(passages: list[Passage]) -> str:
    """Returns the newest message of a customer, "" if the team alone has written."""
    return next((each.text for each in reversed(passages) if each.who == "customer"), "")


def customer_language(ctx: Context, ticket: Ticket) -> str:
    """Returns the language of the first requester's contact, "" if it is not known."""
    for each in (ticket.get("requesters") or {}).values():
        contact_id = each.get("contact_id")
        if contact_id and records.may_read(ctx, "contact", int(contact_id)):
            language = str(records.retrieve(ctx, "contact", int(contact_id)).get("language") or "")
            if language:
                return language.replace("_", "-")
    return ""


def customer_name(ticket: Ticket) -> str:
    """Returns the name of the first requester, "" if only the address is known."""
    for each in (ticket.get("requesters") or {}).values():
        return str(each.get("contact__label") or each.get("name") or "").partition(" <")[0].strip()
    return ""


def tag_names(ctx: Context, most: int) -> list[str]:
    """Returns the names of existing tags, the tags of most tickets first."""
    request = SearchRequest("sort:name", MAX_GROUPS, 1, "num_tickets")
    tags = records.search(ctx, "tag", request)["results"]
    tags.sort(key=lambda each: -int(each.get("num_tickets") or 0))
    return [str(each["name"]) for each in tags[:most]]


def sources(ctx: Context, ticket: Ticket, words: str, most: int) -> list[ModelSource]:
    """Returns articles and earlier replies that share rare words with a text, the best first. most: characters of all
    together."""
    query = _query_words(f"{ticket['subject']}\n{words}")
    if not query:
        return []
    candidates = [*_articles(ctx, ticket, query), *_earlier_replies(ctx, ticket, query)]
    fitting = []
    for each in candidates:
        if len(each.text) <= most:
            most -= len(each.text)
            fitting.append(each)
    return fitting


def _may_leave(message: dict[str, Any]) -> bool:
    return not (message.get("is_notice") or message.get("is_autoreply") or message.get("was_encrypted"))


def _passage(message: dict[str, Any]) -> Passage:
    """Returns a message as its author wrote it, without quotations and signature."""
    parts = quoted.parts(str(message.get("content") or ""))
    said = "\n".join(text for kind, text in parts if kind == "said")
    return Passage("team" if message["is_outgoing"] else "customer", _cut(said))


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MAX_MESSAGE_CHARS else f"{text[:MAX_MESSAGE_CHARS].rstrip()} […]"


# -- sources -----------------------------------------------------------------------------------------------------------


def _query_words(text: str) -> list[str]:
    """Returns the words that say most about a text: repeated words, then long ones."""
    words = Counter(each.casefold() for each in _WORD.findall(text[: 2 * MAX_MESSAGE_CHARS]))
    useful = [each for each in words if len(each) >= LEAST_WORD_CHARS and each not in fulltext.STOP_WORDS]
    return sorted(useful, key=lambda each: (-min(words[each], 3), -len(each), each))[:MAX_QUERY_WORDS]


def _any_of(name: str, words: Collection[str]) -> str:
    terms = " OR ".join(f'{name}:"{each}"' for each in words)
    return f"({terms})"


def _score(words: Collection[str], title: str, text: str) -> int:
    """Returns how many of the words a record has; one in the title counts three times."""
    in_title = {each.casefold() for each in _WORD.findall(title)}
    in_text = {each.casefold() for each in _WORD.findall(text)}
    return sum(3 * (each in in_title) + (each in in_text) for each in words)


def _articles(ctx: Context, ticket: Ticket, words: Collection[str]) -> list[ModelSource]:
    request = SearchRequest(f"status:{PUBLISHED} {_any_of('text', words)} sort:-id", MAX_CANDIDATES, 1, "content")
    results = records.search(ctx, "kb_article", request)["results"]
    brand_ids = records.reading(ctx, lambda tx: _brand_ids(ctx, tx))
    articles = []
    for each in results:
        text = text_of_html(str(each["content"]))[:MAX_SOURCE_CHARS]
        score = _score(words, str(each["title"]), text)
        if each["brand_id"] in brand_ids and score >= 2:
            articles.append((score, each, text))
    articles.sort(key=lambda each: (-each[0], -each[1]["id"]))
    best = articles[:MAX_ARTICLES]
    addresses = article_links.public_addresses(ctx, [each for _score, each, _text in best], ticket["group_id"])
    return [
        ModelSource(
            "article", each["id"], str(each["title"]), f"/articles/{each['id']}", text, addresses.get(each["id"], "")
        )
        for _score, each, text in best
    ]


def _brand_ids(ctx: Context, tx: Transaction) -> set[int]:
    """Returns the brands of groups that are on, and 0 for articles of all brands."""
    all_brands, on = brands.all_brands(tx), group_ids_on(ctx)
    ids = {0, *(each.id for each in all_brands if not each.group_ids.isdisjoint(on))}
    for group_id in on:
        brand = brands.brand_of_group(all_brands, group_id)
        if brand is not None and not brand.group_ids:
            ids.add(brand.id)
    return ids


def group_ids_on(ctx: Context) -> list[int]:
    """Returns the ids of the groups that are switched on."""
    page = records.search(ctx, "group", SearchRequest("writingAssistant:yes sort:id", MAX_GROUPS, 1))
    return [each["id"] for each in page["results"]]


def _earlier_replies(ctx: Context, ticket: Ticket, words: Collection[str]) -> list[ModelSource]:
    """Returns the newest replies on other tickets whose messages have some of the words."""
    groups = " OR ".join(f"ticket.group.id:{each}" for each in group_ids_on(ctx))
    if not groups:
        return []
    q = f"ticket.id:!{ticket['id']} isEncrypted:no ({groups}) {_any_of('content', words)} sort:-id"
    messages = records.search(ctx, "message", SearchRequest(q, MAX_CANDIDATES, 1, "content,ticket_"))["results"]
    scores: Counter[int] = Counter()
    tickets: dict[int, dict[str, Any]] = {}
    for each in messages:
        if each.get("ticket_status") in ("deleted",) or not each.get("ticket_mask"):
            continue
        subject = str(each.get("ticket_subject") or "")
        scores[each["ticket_id"]] = max(
            scores[each["ticket_id"]], _score(words, subject, str(each.get("content") or ""))
        )
        tickets[each["ticket_id"]] = each
    best = [id for id, score in scores.most_common(2 * MAX_REPLIES) if score >= 2]
    replies = []
    for id in best:
        reply = _newest_reply(ctx, id)
        if reply:
            mask, subject = str(tickets[id]["ticket_mask"]), str(tickets[id].get("ticket_subject") or "")
            replies.append(ModelSource("reply", id, subject, paths.ticket(mask), reply))
    return replies[:MAX_REPLIES]


def _newest_reply(ctx: Context, ticket_id: int) -> str:
    """Returns the newest words of the team on a ticket, without addresses and numbers of its customer."""
    q = f"ticket.id:{ticket_id} isOutgoing:yes isAutoreply:no isEncrypted:no sort:-created,-id"
    for each in records.search(ctx, "message", SearchRequest(q, 3, 1, "content"))["results"]:
        text = without_contacts(_passage(each).text[:MAX_SOURCE_CHARS])
        if text and not each.get("is_notice"):
            return text
    return ""
