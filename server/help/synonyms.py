"""Words of other helpdesks and the words that this one uses for the same things."""

from functools import cache

from server.translation import N_, shown

MAX_FOUND = 3  # rewordings of a text
# Translators: each pair is a word that people may type and our word for it. Write pairs of your language.
SYNONYMS = N_(
    "agent = worker, user = worker, operator = worker, technician = worker, team = group, department = group, "
    "queue = bucket, folder = bucket, mailbox folder = bucket, canned response = snippet, canned reply = snippet, "
    "canned answer = snippet, saved reply = snippet, quick reply = snippet, text block = snippet, "
    "boilerplate = snippet, company = organization, customer = contact, client = contact, end user = contact, "
    "requester = contact, case = ticket, issue = ticket, conversation = ticket, view = saved search, "
    "filter = saved search, smart list = saved search, snooze = reminder, snooze = waiting, follow up = reminder, "
    "pending = waiting, hold = waiting, sla = service target, response time = service target, macro = automation, "
    "trigger = automation, workflow = automation, rule = automation, business rule = automation, tag = custom field, "
    "label = custom field, internal comment = note, private note = note, vacation = absence, holiday = absence, "
    "out of office = absence, auto reply = acknowledgement, autoresponder = acknowledgement, spam filter = spam, "
    "subscribe = watch, follower = watch, cc = watch, 2fa = second factor, two-factor = second factor, "
    "two factor = second factor, mfa = second factor, api key = token, single sign-on = oauth, integration = webhook, "
    "kb = knowledgebase, faq = knowledgebase, undo send = undo_send, schedule = send later, dark mode = dark"
)


def rewordings(text: str) -> list[str]:
    """Rewordings of a text: each synonym in it replaced by our word, the longest first. Plurals match as well.

    >>> [rewordings(text) for text in ("canned replies", "Snooze", "new agents", "pumps")]
    [['snippet'], ['reminder', 'waiting'], ['new worker'], []]
    """
    typed = " ".join(text.lower().split())
    forms = dict.fromkeys((typed, " ".join(map(_single, typed.split()))))
    found = [
        f" {form} ".replace(f" {said} ", f" {called} ").strip()
        for form in forms
        for said, called in _pairs(shown(SYNONYMS))
        if f" {said} " in f" {form} "
    ]
    return list(dict.fromkeys(found))[:MAX_FOUND]


@cache
def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    """The pairs of the language and the English ones. Malformed pairs are skipped."""
    both = text if text == SYNONYMS else f"{text}, {SYNONYMS}"
    pairs = (each.partition("=") for each in both.split(","))
    known = [(said.strip().lower(), called.strip().lower()) for said, sign, called in pairs if sign]
    return tuple(sorted(dict.fromkeys(known), key=lambda each: -len(each[0])))


def _single(word: str) -> str:
    """The singular of an English word, roughly."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word
