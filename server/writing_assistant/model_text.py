"""Text of a model as untrusted input: customers write into the prompt, so a reply may hold whatever they wanted it to
hold. Nothing in it may fetch, attach or run anything."""

import re
from collections.abc import Collection

from server.outbox.deliver import own_file
from server.tickets.reply_start import ORIGINAL, SIGNATURE

MAX_CHARS = 20_000
MAX_TAGS = 5
# Marks that turn the direction of text around, join or hide characters; a reader would not see what is there.
_HIDDEN = re.compile("[\u00ad\u200b\u2028-\u202e\u2060-\u2069\ufeff]|[\x00-\x08\x0b-\x1f\x7f-\x9f]|[\ud800-\udfff]")
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_FENCE = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_DEFINITION = re.compile(r"^[ ]{0,3}\[[^\]\n]{1,200}\]:[ \t]*\S.*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\[\]\n]{0,300})\]\([^)\n]{0,2300}\)")
_IMAGE_MARK = re.compile(r"!(?=\[)")
_LINK = re.compile(r"\[([^\[\]\n]{0,300})\]\(\s*<?([^()\s<>]{0,2000}(?:\([^()\s<>]{0,200}\))?)>?[^)\n]{0,300}\)")
_REFERENCE = re.compile(r"\[([^\[\]\n]{1,300})\][ ]?\[[^\[\]\n]{0,200}\]")
_AUTOLINK = re.compile(r"<((?:https?|mailto|ftp):[^\s<>]{1,2000})>", re.IGNORECASE)
_TAG_START = re.compile(r"<(?=[A-Za-z/!?])")
_SPACES = re.compile(r"\n{3,}")
_USED = re.compile(r"^[\s*_]*sources?(?: used)?[\s*_]*:[\s*_]*([0-9 ,;and&\[\]]*|none)\W*\Z", re.IGNORECASE)
_TAG_MARKS = re.compile(r"^[\s\-*•#\"'`\[\](){}]+|[\s\"'`\[\](){}.]+\Z|^\s*[0-9]+[.)]\s+")
_ADDRESS = re.compile(r"[^\s@<>()\[\],;:\"]{1,64}@[^\s@<>()\[\],;:\"]{1,255}(?<!\.)")
_NUMBER = re.compile(r"(?<![\w.])\+?[0-9](?:[ /().-]{0,2}[0-9]){6,}")


def plain(text: str) -> str:
    """Returns the words of a reply, to be shown as they are: without the thoughts of the model and hidden characters.

    >>> plain("<think>He wants...</think>\\n\\nThe pump leaks.\\u202e")
    'The pump leaks.'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _HIDDEN.sub("", _THOUGHTS.sub("", text))
    fenced = _FENCE.match(text)
    text = fenced[1] if fenced else text
    return _SPACES.sub("\n\n", text).strip()[:MAX_CHARS]


def markdown(text: str, base_url: str, sent: Collection[str] = ()) -> str:
    """Returns a reply as Markdown for the reply form: without images and HTML. Links to other addresses than `sent` are
    written out, so that a worker sees each address before sending it.

    base_url: address of this service, whose files would be attached to the email. sent: addresses in the prompt.

    >>> markdown("![x](https://evil.example/?a) <b>Hi</b>", "https://desk.example")
    'x \\\\<b>Hi\\\\</b>'
    """
    text = _DEFINITION.sub("", plain(text))
    text = _IMAGE_MARK.sub("", _IMAGE.sub(r"\1", text))
    text = _LINK.sub(lambda match: _written_out(match[0], match[1], match[2], sent), text)
    text = _REFERENCE.sub(r"\1", text)
    text = _AUTOLINK.sub(r"\1", text)
    text = _TAG_START.sub(r"\\<", text)
    text = own_file(base_url).sub("", text)
    lines = ("" if line.strip() in (SIGNATURE, "#sig", ORIGINAL) else line for line in text.split("\n"))
    return _SPACES.sub("\n\n", "\n".join(lines)).strip()


def used_sources(text: str, count: int) -> tuple[str, tuple[int, ...]]:
    """Splits the line with the used sources off the end of a reply. Returns the rest, and their numbers from 1 to
    `count`; all numbers if there is no such line.

    >>> used_sources("Please reset it.\\n\\nSources: 2, 9", 3)
    ('Please reset it.', (2,))
    >>> used_sources("Please reset it.", 2)
    ('Please reset it.', (1, 2))
    """
    head, _, last = text.rstrip().rpartition("\n")
    match = _USED.match(last.strip())
    if match is None:
        return text, tuple(range(1, count + 1))
    numbers = {int(each) for each in re.findall(r"[0-9]{1,3}", match[1])}
    return head.rstrip(), tuple(each for each in range(1, count + 1) if each in numbers)


def known_tags(text: str, names: Collection[str]) -> tuple[str, ...]:
    """Returns the existing tags that a reply names, at most MAX_TAGS.

    >>> known_tags("- Billing\\n- **refund**\\n- made up", ["billing", "refund"])
    ('billing', 'refund')
    """
    by_key = {name.casefold(): name for name in names}
    pieces = re.split(r"[\n,;]", plain(text))
    keys = (_TAG_MARKS.sub("", _TAG_MARKS.sub("", piece)).strip(" *_").casefold() for piece in pieces)
    return tuple(dict.fromkeys(by_key[key] for key in keys if key in by_key))[:MAX_TAGS]


def without_contacts(text: str) -> str:
    """Returns a text of another customer's ticket without email addresses and long numbers, such as numbers of phones
    and accounts.

    >>> without_contacts("Call +49 30 1234567 or write to ida@larch.example.")
    'Call [number] or write to [address].'
    """
    return _NUMBER.sub("[number]", _ADDRESS.sub("[address]", text))


def split_typed(text: str) -> tuple[str, str]:
    """Splits what a worker typed from the lines that stand for signature and quotation, with everything below them.

    >>> split_typed("Hello\\n\\n#signature\\n\\n#original_message")
    ('Hello', '\\n\\n#signature\\n\\n#original_message')
    """
    lines = text.split("\n")
    commands = (SIGNATURE, "#sig", ORIGINAL)
    place = next((place for place, line in enumerate(lines) if line.strip() in commands), len(lines))
    head = "\n".join(lines[:place]).rstrip()
    return head, text[len(head) :]


def _written_out(whole: str, label: str, address: str, sent: Collection[str]) -> str:
    if address in sent:
        return whole
    is_web = address.lower().startswith(("http://", "https://", "mailto:"))
    if not is_web or not address:
        return label
    return address if label.strip() in ("", address) else f"{label} ({address})"
