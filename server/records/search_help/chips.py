"""A search as chips: each top-level term in words, with the search that is left without it."""

import re
from collections.abc import Callable, Mapping

from server.dataclass import dataclass
from server.errors import BadQuery
from server.record_types.field_labels import field_label
from server.record_types.shared.custom import CustomFilter
from server.search.ast import SearchValue
from server.search.control_terms import CONTROLS
from server.search.filters import Filter
from server.search.query_tokens import SearchToken, TokenKind, tokens
from server.search.values import split_range
from server.translation import N_, _, shown

MAX_CHIPS = 40
MAX_CHARS = 60  # length of a chip; longer ones are truncated
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TERM = re.compile(r"([A-Za-z0-9_.]+):\s*(!(?!=))?\s*(.*)", re.DOTALL)
_COMPARED = re.compile(r'"?(>=|<=|!=|>|<|=)\s*(.+?)"?', re.DOTALL)
_LISTED = re.compile(r'"([^"]*)"|([^\s,\[\]"]+)')
_NAMES = re.compile(r'[^\s,\[\]"]+')
COMPARED = {
    ">": N_("{name}: more than {value}"),
    ">=": N_("{name}: at least {value}"),
    "<": N_("{name}: less than {value}"),
    "<=": N_("{name}: at most {value}"),
    "!=": N_("{name}: not {value}"),
    "=": N_("{name}: {value}"),
}
IS, IS_NOT = N_("{name}: {value}"), N_("{name}: not {value}")
DATED = {
    ">": N_("{name}: after {value}"),
    ">=": N_("{name}: from {value}"),
    "<": N_("{name}: before {value}"),
    "<=": N_("{name}: until {value}"),
}

Known = Callable[[str], Filter | None]


@dataclass(frozen=True, slots=True)
class Chip:
    """A term of a search. words: the term in words. without: the search that is left when the chip is removed."""

    text: str
    words: str
    start: int
    end: int
    without: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """A top-level term. joint: the operator before it, AND or OR, "" for white space."""

    start: int
    end: int
    joint: str
    kind: TokenKind
    is_control: bool


def chips(q: str, find: Known, labels: Mapping[tuple[str, str], str] | None = None) -> list[Chip]:
    """Splits a search into chips; none if it cannot be parsed.

    find: returns the filter of a name. labels: {(type, id): label}."""
    try:
        pieces = _pieces(q)
    except BadQuery:
        return []
    runs, joint = _runs(pieces)
    texts = [q[run[0].start : run[-1].end] for run in runs]
    is_control = [run[0].is_control for run in runs]
    terms = []
    for at, run in enumerate(runs[:MAX_CHIPS]):
        others = [text for place, text in enumerate(texts) if place != at and not is_control[place]]
        controls = [text for place, text in enumerate(texts) if place != at and is_control[place]]
        without = " ".join(filter(None, (joint.join(others), *controls)))
        words = _cut(" ".join(_words(q[each.start : each.end], find, labels or {}) for each in run))
        terms.append(Chip(texts[at], words, run[0].start, run[-1].end, without))
    return terms


def _pieces(q: str) -> list[_Piece]:
    """The top-level terms, as the parser sees them. Raises BadQuery if the text has no valid tokens."""
    pieces: list[_Piece] = []
    sequence = tokens(q)
    ends = [len(q[: each.position].rstrip()) for each in sequence[1:]] + [len(q.rstrip())]
    depth, start, first, joint = 0, -1, TokenKind.TEXT, ""
    for at, token in enumerate(sequence):
        if start < 0:
            if _joins(token, pieces, joint, at == len(sequence) - 1):
                joint = str(getattr(token.value, "value", token.value))
                continue
            start, first = token.position, token.kind
        elif sequence[at - 1].kind is TokenKind.NOT and start == sequence[at - 1].position:
            first = token.kind  # of the negated term
        depth += (token.kind is TokenKind.OPEN) - (token.kind is TokenKind.CLOSE)
        if depth > 0 or _goes_on(token, sequence[at + 1 :][:1], sequence[at - 1 : at], start):
            continue
        name = q[start : q.find(":", start)] if first is TokenKind.FIELD else ""
        pieces.append(_Piece(start, ends[at], joint, first, name in CONTROLS))
        start, joint = -1, ""
    return pieces


def _joins(token: SearchToken, pieces: list[_Piece], joint: str, is_last: bool) -> bool:
    """Whether AND or OR is an operator: it is a word unless it stands between two terms."""
    return token.kind is TokenKind.OPERATOR and bool(pieces) and not joint and not is_last


def _goes_on(token: SearchToken, following: list[SearchToken], before: list[SearchToken], start: int) -> bool:
    """Whether the next token belongs to the same term: the value of a field, or the operand of `!`."""
    if not following:
        return False
    if token.kind in (TokenKind.FIELD, TokenKind.NOT):
        return True
    is_bang = isinstance(token.value, SearchValue) and token.kind is TokenKind.TEXT and token.value.value == "!"
    if not is_bang:
        return False
    is_value = bool(before) and before[0].kind is TokenKind.FIELD and start <= before[0].position
    is_joined = following[0].kind is TokenKind.QUOTED and following[0].position == token.position + 1
    return is_value or is_joined


def _runs(pieces: list[_Piece]) -> tuple[list[list[_Piece]], str]:
    """Groups terms that are removed together, and returns the operator between groups.

    If there is an OR, terms joined by AND or by white space form one group; otherwise AND means the same as white
    space."""
    if not any(each.joint == "OR" for each in pieces):
        return [[each] for each in pieces], " "
    runs: list[list[_Piece]] = []
    words = (TokenKind.TEXT, TokenKind.QUOTED)
    for each in pieces:
        last = runs[-1][-1] if runs else None
        is_tied = (
            last is not None
            and not each.is_control
            and not last.is_control
            and (each.joint == "AND" or (not each.joint and each.kind in words and last.kind in words))
        )
        if is_tied:
            runs[-1].append(each)
        else:
            runs.append([each])
    return runs, " OR "


# -- in words ---------------------------------------------------------------------------------------------------------


def title(named_filter: Filter) -> str:
    """The label of a filter: Last opened at for `lastOpenedAt`, Owner for `owner.id`.

    >>> title(Filter("owner.id", ""))
    'Owner'
    """
    if isinstance(named_filter, CustomFilter):
        return named_filter.field.name
    return shown(field_label(_CAMEL.sub("_", named_filter.name.removesuffix(".id")).replace(".", "_").lower()))


def _words(text: str, find: Known, labels: Mapping[tuple[str, str], str]) -> str:
    """A term in words."""
    match = _TERM.fullmatch(text)
    if match is None:
        return _bare(text)
    name, bang, value = match.groups()
    if name in CONTROLS:
        return _control(CONTROLS[name], value)
    named_filter = find(name)
    if named_filter is None:
        return text
    if value[:1] in ("!", "(") or value.startswith("all("):
        said = IS_NOT if bang or value[0] == "!" else IS
        return _(said, name=title(named_filter), value=value.lstrip("!"))
    return _said(named_filter, bool(bang), value, labels)


def _bare(text: str) -> str:
    plain = text.removeprefix("!").strip()
    if plain.startswith("("):
        return text
    return _("without “{words}”", words=plain.strip('"')) if text.startswith("!") else f"“{plain.strip(chr(34))}”"


def _control(name: str, value: str) -> str:
    if name == "sort":
        sorts = [f"{each.lstrip('+-')} {'↓' if each.startswith('-') else '↑'}" for each in _NAMES.findall(value)]
        return _("Sorted by {names}", names=", ".join(sorts))
    return f"{shown(field_label(name))}: {value}"


def _said(named_filter: Filter, is_negated: bool, value: str, labels: Mapping[tuple[str, str], str]) -> str:
    name, target = title(named_filter), targeted(named_filter)
    compared = _COMPARED.fullmatch(value)
    if compared and not is_negated:
        words = DATED.get(compared[1]) if inner(named_filter).type == "date" else None
        return _(words or COMPARED[compared[1]], name=name, value=compared[2])
    limits = split_range(value.strip('"')) if value[:1] != "[" else None
    if limits and not is_negated:
        return _("{name}: {first} to {last}", name=name, first=limits[0], last=limits[1])
    values = [quoted or plain for quoted, plain in _LISTED.findall(value)] if value[:1] == "[" else [value.strip('"')]
    separator = " ".join(("", _("or"), ""))
    shown_value = separator.join(labels.get((target, each), each) for each in values)
    return _(IS_NOT if is_negated else IS, name=name, value=shown_value)


def ids_in(text: str, find: Known) -> tuple[str, list[str]]:
    """The record type and the ids in a term, ("", []) if it has none."""
    match = _TERM.fullmatch(text)
    named_filter = find(match[1]) if match else None
    if match is None or named_filter is None or not targeted(named_filter):
        return "", []
    ids = [plain for _quoted, plain in _LISTED.findall(match[3]) for plain in plain.split(",")]
    return targeted(named_filter), [each for each in ids if each.isascii() and each.isdigit() and len(each) < 18]


def inner(named_filter: Filter) -> Filter:
    """The filter that searches a custom field, by the kind of the field; other filters themselves."""
    return named_filter.inner if isinstance(named_filter, CustomFilter) else named_filter


def targeted(named_filter: Filter) -> str:
    """The record type whose ids a filter takes, "" if it takes other values."""
    each = inner(named_filter)
    if isinstance(named_filter, CustomFilter) and each.type == "chooser":
        return named_filter.field.target
    return each.target if each.type in ("chooser", "worker", "watchers", "virtual") else ""


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}…"
