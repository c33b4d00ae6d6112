"""Questions of a package and the answers to them. The first problem ends the import; nothing is written yet."""

from typing import Any

from server.digits import id_in
from server.errors import Invalid, NotFound, Required, nearest
from server.packages.document import PackageDocument, Tree, is_yes
from server.packages.substitution import TemplateValues
from server.records.registry import Registry

KINDS = ("text", "chooser", "picklist")
MAX_CHOSEN = 1000  # records or options in one answer


def fill(document: PackageDocument, answers: Tree, values: TemplateValues, registry: Registry) -> None:
    """Put the answers into the values, by the key of their prompt. answers: {key: text, number or list}; those to what
    was not asked are ignored. Raises Required, Invalid. Source: Packages, package.configure.prompts."""
    for prompt in document.prompts:
        key, kind = prompt["key"], prompt.get("type")
        params = prompt.get("params") or {}
        if kind not in KINDS:
            raise _bad(prompt, f"'{str(kind)[:50]}' is not a type of prompt{nearest(str(kind), KINDS)}")
        if not isinstance(params, dict):
            raise _bad(prompt, "params takes a map")
        given = answers.get(key)
        if _is_missing(prompt, given):
            raise Required(f"{_named(prompt)}: an answer is missing; send prompts[{key}]", field=f"prompts[{key}]")
        if kind == "text":
            values[key] = _text(prompt, given)
        elif kind == "picklist":
            values[key] = _options(prompt, params, given)
        else:
            _choose(prompt, params, given, values, registry)


def unanswered(document: PackageDocument, answers: Tree) -> list[str]:
    """The keys of the prompts that have no answer, in their order."""
    return [prompt["key"] for prompt in document.prompts if _is_missing(prompt, answers.get(prompt["key"]))]


def _is_missing(prompt: Tree, given: Any) -> bool:
    """Whether nothing was answered. An empty text may be what a picklist offers."""
    params = prompt.get("params")
    offers_empty = prompt.get("type") == "picklist" and isinstance(params, dict) and "" in _offered(params)
    return given in (None, "", [], {}) and not (given == "" and offers_empty)


def _options(prompt: Tree, params: Tree, given: Any) -> Any:
    known = _offered(params)
    chosen = [_text(prompt, each) for each in (_listed(prompt, given) if is_yes(params.get("multiple")) else [given])]
    for each in chosen:
        if each not in known:
            listed = nearest(each, known) or f"; choose one of {', '.join(known)[:500]}"
            raise _bad(prompt, f"'{each[:80]}' is not offered{listed}")
    return chosen if is_yes(params.get("multiple")) else chosen[0]


def _offered(params: Tree) -> list[str]:
    """The values to choose from; one of them may be empty."""
    offered = params.get("options") or []
    return [str(each) for each in (offered.values() if isinstance(offered, dict) else offered)]


def _choose(prompt: Tree, params: Tree, given: Any, values: TemplateValues, registry: Registry) -> None:
    key = prompt["key"]
    context = _context(prompt, params, registry)
    if not is_yes(params.get("single")):
        values[key] = [_id(prompt, each) for each in _listed(prompt, given)]
        return
    values[key] = _id(prompt, given)
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


def _listed(prompt: Tree, given: Any) -> list[Any]:
    """One value is a list of one; forms may send a list as a map."""
    listed = list(given.values()) if isinstance(given, dict) else given if isinstance(given, list) else [given]
    if len(listed) > MAX_CHOSEN:
        raise _bad(prompt, f"at most {MAX_CHOSEN} can be chosen")
    return listed


def _id(prompt: Tree, given: Any) -> int:
    text = _text(prompt, given).strip()
    id = id_in(text)
    if id is None:
        raise _bad(prompt, f"'{text[:50]}' is not the id of a record")
    return id


def _text(prompt: Tree, given: Any) -> str:
    if isinstance(given, bool) or not isinstance(given, (str, int, float)):
        raise _bad(prompt, "takes one text")
    return str(given)


def _named(prompt: Tree) -> str:
    label = str(prompt.get("label") or "")[:100]
    return f"prompt '{label}' ({prompt['key'][:80]})"


def _bad(prompt: Tree, reason: str) -> Invalid:
    """`details["reason"]`: the message without the prompt, for a form that shows it beside the question."""
    return Invalid(f"{_named(prompt)}: {reason}", field=f"prompts[{prompt['key']}]", reason=reason)
