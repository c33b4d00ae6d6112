"""The use of apps: the number of workers and tokens, and the scopes that they lose when an app changes."""

from collections.abc import Mapping
from typing import Any

from server.apps import token_lists
from server.apps.token_lists import TokenGroup
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.record_types.shared import callbacks, scopes
from server.translation import _

MAX_NAMED = 5  # workers that a sentence names


@dataclass(frozen=True)
class AppUsage:
    """Who uses an app, in numbers. names: of the first workers, in words. last_used_at: 0 for never."""

    workers: int
    tokens: int
    last_used_at: int
    names: str


def summarize(uses: list[TokenGroup]) -> AppUsage:
    """Returns the tokens of an app in numbers."""
    names = sorted({each.worker for each in uses})
    more = f" and {len(names) - MAX_NAMED} others" if len(names) > MAX_NAMED else ""
    return AppUsage(
        len({each.worker_id for each in uses}),
        sum(each.tokens for each in uses),
        max((each.last_used_at for each in uses), default=0),
        ", ".join(names[:MAX_NAMED]) + more,
    )


def usage(ctx: Context, app_ids: list[int]) -> dict[int, AppUsage]:
    """Returns who uses some apps. Raises AdminOnly."""
    uses = token_lists.in_use(ctx)
    return {id: summarize([each for each in uses if each.app_id == id]) for id in app_ids}


def warnings(ctx: Context, app: Mapping[str, Any], callback_urls: str, scopes_text: str) -> list[str]:
    """Returns what should be confirmed before an app is saved: addresses that should be avoided, and lost scopes. app:
    as it is stored, {} for a new one."""
    sentences = [
        _(
            "Callback address {line} {reason}. An app that only uses the token generator does not need a "
            "working address.",
            line=line,
            reason=reason,
        )
        for line, reason in callbacks.mistakes(callback_urls)
    ]
    return sentences + (lost_scopes(ctx, app["id"], app["scopes"], scopes_text) if app else [])


def lost_scopes(ctx: Context, app_id: int, before: str, after: str) -> list[str]:
    """Returns a sentence for each scope that is no longer defined though tokens have it. before, after: the
    definitions; mistakes in them are left to the check of the app."""
    try:
        gone = set(scopes.parse(before)) - set(scopes.parse(after))
    except HelpdeskError:
        return []
    uses = token_lists.in_use(ctx, app_id) if gone else []
    sentences = []
    for name in sorted(gone):
        lost = summarize([each for each in uses if name in each.scopes])
        if lost.tokens:
            sentences.append(
                _(
                    "The scope {name} was removed. What it allowed is no longer possible for {tokens} of {workers}.",
                    name=name,
                    tokens=f"{lost.tokens} token{'' if lost.tokens == 1 else 's'}",
                    workers=lost.names,
                )
            )
    return sentences
