"""Files of articles: pictures in the text, which are attached to the article so that visitors may see them."""

import re
from collections.abc import Iterable

from server.contexts import WORKER, context_of
from server.record_types.parts import Writing
from server.record_types.shared.relation_tables import ATTACHED

ARTICLE = context_of("kb_article")
_FILES = re.compile(r'\s(?:src|href)="[^"]*/files/([0-9]{1,18})(?:/[^"]*)?"')


def files_in(html: str) -> list[int]:
    """Returns the ids of the files that sanitized HTML shows or links to."""
    return list(dict.fromkeys(map(int, _FILES.findall(html))))


def attach_own(writing: Writing, article_id: int, file_ids: Iterable[int]) -> None:
    """Attaches files that the worker has uploaded and that belong to no other record. Others stay where they are, since
    a published article shows its files to everybody."""
    for id in file_ids:
        file = writing.record("attachment", id)
        is_own = file is not None and writing.actor.context == WORKER and file["uploader_id"] == writing.actor.id
        if not is_own or writing.tx.first(ATTACHED, attachment_id=id):
            continue
        writing.tx.insert(ATTACHED, {"attachment_id": id, "context": ARTICLE, "record_id": article_id})
        writing.touch("attachment", id=id)
