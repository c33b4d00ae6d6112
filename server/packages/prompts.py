"""Prompts of a package and the answers to them. An error ends the import before anything is written."""

import re
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.digits import id_in
from server.errors import HelpdeskError, Invalid, NotFound, Required, nearest
from server.packages.package_document import PackageDocument, Tree, is_yes
from server.packages.substitution import TemplateValues
from server.record_types.registry import Registry
from server.records import records
from server.records.records import LABEL, SearchRequest

KINDS = ("text", "chooser", "picklist")
# {format of a text: (its pattern, the reason in an error)}
FORMATS = {
    "email": (re.compile(r"[^\s@,;<>{}]+@[^\s@,;<>{}]+"), "is not one email address"),
    "name": (
        re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._]{0,58}[A-Za-z0-9])?"),
        "must have at most 60 letters, digits, dots and underscores, and begin and end with a letter or digit",
    ),
    "number": (re.compile(r"[0-9]{1,6}"), "is not a whole number from 0 to 999,999"),
    "url": (re.compile(r"https?://[^\s{}]+"), "is not an http:// or https:// address"),
}
_ANSWER = re.compile(r"\{\{\{\s*(\w+)\s*\}\}\}")  # a template that consists of one answer
MAX_NAMED = 20  # missing answers in an error
MAX_CHOICES = 500  # records that a chooser offers
MAX_CHOSEN = 1000  # records or options in one answer


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt as a form asks it. options: of a picklist, as (value, label). records: of a chooser, with their labels;
    [] if there are too many, or they cannot be searched: then ids are typed."""

    label: str
    options: list[tuple[str, str]]
    records: list[dict[str, Any]]
    is_several: bool
    default: str
    is_secret: bool


def question(ctx: Context, prompt: Tree) -> Question:
    """Returns a prompt as a form asks it; mistakes in its params are ignored."""
    params = prompt.get("params")
    params = params if isinstance(params, dict) else {}
    kind, default = prompt.get("type"), params.get("default")
    choosable = _choosable(ctx, params) if kind == "chooser" else []
    is_several = kind == "picklist" and is_yes(params.get("multiple"))
    return Question(
        str(prompt.get("label") or prompt["key"]),
        _picklist(params.get("options")) if kind == "picklist" else [],
        choosable,
        is_several or (bool(choosable) and not is_yes(params.get("single"))),
        str(default) if isinstance(default, str | int | float) else "",
        kind == "text" and is_yes(params.get("secret")),
    )


def _picklist(options: Any) -> list[tuple[str, str]]:
    if isinstance(options, dict):
        return [(str(value), str(label)) for label, value in options.items()]
    return [(str(each), str(each)) for each in options] if isinstance(options, list) else []


def _choosable(ctx: Context, params: Tree) -> list[dict[str, Any]]:
    try:
        record_type = ctx.service.registry.type(str(params.get("context") or "").lower())
        request = SearchRequest(str(params.get("query") or ""), MAX_CHOICES, expand=LABEL)
        page = records.search(ctx, record_type.uri, request)
    except HelpdeskError:
        return []
    choosable: list[dict[str, Any]] = page["results"]
    return choosable if page["total"] <= MAX_CHOICES else []


def fill(document: PackageDocument, answers: Tree, values: TemplateValues, registry: Registry) -> None:
    """Adds the answers to the values, by the key of their prompt. answers: {key: text, number or list}; answers without
    a prompt are ignored. Raises Required, Invalid."""
    for prompt in document.prompts:
        _check(prompt)
    require_answers(document, answers)
    for prompt in document.prompts:
        key, kind = prompt["key"], prompt.get("type")
        params = prompt.get("params") or {}
        answer = answers.get(key)
        if kind == "text":
            values[key] = _formatted(prompt, params, _text(prompt, answer))
        elif kind == "picklist":
            values[key] = _options(prompt, params, answer)
        else:
            _choose(prompt, params, answer, values, registry)


def require_answers(document: PackageDocument, answers: Tree) -> None:
    """Raises Required with every prompt that has no answer; `details["missing"]` lists them for programs."""
    missing = [each for each in document.prompts if _is_missing(each, answers.get(each["key"]))]
    if not missing:
        return
    first = missing[0]["key"]
    missing_prompts = [{"key": each["key"], "label": str(each.get("label") or each["key"])} for each in missing]
    if len(missing) == 1:
        text = f"{_named(missing[0])}: an answer is missing; send prompts[{first}]"
    else:
        names = "; ".join(_named(each) for each in missing[:MAX_NAMED])
        rest = f"; and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
        text = f"{len(missing)} answers are missing: {names}{rest}. Send each as prompts[<key>]"
    more = [
        Required(f"{_named(each)}: an answer is missing; send prompts[{each['key']}]", field=f"prompts[{each['key']}]")
        for each in missing[1:]
    ]
    raise Required(text, field=f"prompts[{first}]", missing=missing_prompts, more=more)


def _check(prompt: Tree) -> None:
    kind = prompt.get("type")
    if kind not in KINDS:
        raise _bad(prompt, f"'{str(kind)[:50]}' is not a type of prompt{nearest(str(kind), KINDS)}")
    if not isinstance(prompt.get("params") or {}, dict):
        raise _bad(prompt, "params takes a map")


def entered(document: PackageDocument, value: Any, answers: Tree) -> Any:
    """Returns the parts of a value that consist of an answer to a prompt for a secret, which the importer typed; None
    without such parts.

    A prompt with a default is left out, because the author of the package knows the default."""
    if isinstance(value, dict):
        parts = {name: entered(document, each, answers) for name, each in value.items()}
        return {name: each for name, each in parts.items() if each is not None} or None
    match = _ANSWER.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[1] in {each["key"] for each in document.placeholders}:
        return None
    prompts = [each for each in document.prompts if each["key"] == match[1]]
    params = prompts[0].get("params") if len(prompts) == 1 and prompts[0].get("type") == "text" else None
    is_secret = isinstance(params, dict) and is_yes(params.get("secret")) and not params.get("default")
    return str(answers[match[1]]) if is_secret and match[1] in answers else None


def unanswered(document: PackageDocument, answers: Tree) -> list[str]:
    """Returns the keys of the prompts without an answer, in their order."""
    return [prompt["key"] for prompt in document.prompts if _is_missing(prompt, answers.get(prompt["key"]))]


def _is_missing(prompt: Tree, answer: Any) -> bool:
    """Whether a prompt has no answer. An empty text may be an option of a picklist."""
    params = prompt.get("params")
    offers_empty = prompt.get("type") == "picklist" and isinstance(params, dict) and "" in _offered(params)
    return answer in (None, "", [], {}) and not (answer == "" and offers_empty)


def _options(prompt: Tree, params: Tree, answer: Any) -> Any:
    offered = _offered(params)
    chosen = [_text(prompt, each) for each in (_listed(prompt, answer) if is_yes(params.get("multiple")) else [answer])]
    for each in chosen:
        if each not in offered:
            hint = nearest(each, offered) or f"; choose one of {', '.join(offered)[:500]}"
            raise _bad(prompt, f"'{each[:80]}' is not offered{hint}")
    return chosen if is_yes(params.get("multiple")) else chosen[0]


def _offered(params: Tree) -> list[str]:
    """Returns the options of a picklist; one of them may be empty."""
    offered = params.get("options") or []
    return [str(each) for each in (offered.values() if isinstance(offered, dict) else offered)]


def _choose(prompt: Tree, params: Tree, answer: Any, values: TemplateValues, registry: Registry) -> None:
    key = prompt["key"]
    context = _context(prompt, params, registry)
    if not is_yes(params.get("single")):
        values[key] = [_id(prompt, each) for each in _listed(prompt, answer)]
        return
    values[key] = _id(prompt, answer)
    if key.endswith("_id") and context:
        stem = key.removesuffix("_id")
        values[f"{stem}__context"] = context
        values.records[stem] = (context, values[key])


def _context(prompt: Tree, params: Tree, registry: Registry) -> str:
    name = params.get("context")
    if not name:
        return ""
    try:
        return registry.type(str(name).lower()).context
    except NotFound as error:
        raise _bad(prompt, error.message) from error


def _listed(prompt: Tree, answer: Any) -> list[Any]:
    """Returns the values of an answer; a single value is a list of one, and forms may send a list as a map."""
    values = list(answer.values()) if isinstance(answer, dict) else answer if isinstance(answer, list) else [answer]
    if len(values) > MAX_CHOSEN:
        raise _bad(prompt, f"at most {MAX_CHOSEN} can be chosen")
    return values


def _id(prompt: Tree, answer: Any) -> int:
    text = _text(prompt, answer).strip()
    id = id_in(text)
    if id is None:
        raise _bad(prompt, f"'{text[:50]}' is not the id of a record")
    return id


def _formatted(prompt: Tree, params: Tree, text: str) -> str:
    """Returns a text that matches the format of its prompt. Raises Invalid."""
    name = params.get("format") or ""
    if name and name not in FORMATS:
        raise _bad(prompt, f"'{str(name)[:50]}' is not a format{nearest(str(name), FORMATS)}")
    if name and not FORMATS[name][0].fullmatch(text):
        raise _bad(prompt, f"'{text[:80]}' {FORMATS[name][1]}")
    return text


def _text(prompt: Tree, answer: Any) -> str:
    if isinstance(answer, bool) or not isinstance(answer, (str, int, float)):
        raise _bad(prompt, "takes one text")
    return str(answer)


def _named(prompt: Tree) -> str:
    label = str(prompt.get("label") or "")[:100]
    return f"prompt '{label}' ({prompt['key'][:80]})"


def _bad(prompt: Tree, reason: str) -> Invalid:
    """Returns the error for an answer. `details["reason"]` is the message without the prompt, for a form that shows it
    next to the prompt."""
    return Invalid(f"{_named(prompt)}: {reason}", field=f"prompts[{prompt['key']}]", reason=reason)
