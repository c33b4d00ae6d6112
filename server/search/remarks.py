"""Hints for a search without matches: words that may have been meant as operators."""

from server.search.ast import BareWord, BooleanGroup, Node, Query, Subquery, Term

OPERATORS = {"or": "OR", "not": "NOT", "oder": "OR", "nicht": "NOT"}


def remarks(query: Query) -> list[str]:
    """Returns one sentence per word that is an operator in capitals, such as in `pump or hose`."""
    words = dict.fromkeys(_operators(query.root))
    return [f"'{word}' was searched as a word; write {OPERATORS[word.lower()]} for the operator" for word in words]


def _operators(group: BooleanGroup) -> list[str]:
    words: list[str] = []
    last = len(group.children) - 1
    for place, child in enumerate(group.children):
        inner = _inner(child)
        if inner is not None:
            words += _operators(inner)
        elif isinstance(child, BareWord) and not child.text.quoted and not child.negated:
            operator = OPERATORS.get(child.text.value.lower(), "")
            if operator and place < last and (place or operator == "NOT"):
                words.append(child.text.value)
    return words


def _inner(node: Node) -> BooleanGroup | None:
    if isinstance(node, Term):
        return node.value.root if isinstance(node.value, Subquery) else None
    return node if isinstance(node, BooleanGroup) else None
