"""`ui.icons`: the names of icons. Source: Data queries, Others."""

from server.desk.icons import ICONS
from server.desk.queries.asked import Asked
from server.desk.queries.declared import Answer, QueryType
from server.desk.queries.listing import LISTED, listed


class UiIcons(QueryType):
    """[{icon}] by name, in pages of `limit:`."""

    name = "ui.icons"
    description = "The names of icons."
    keys = LISTED
    is_quick = True

    def run(self, asked: Asked) -> Answer:
        return listed(asked.values, [{"icon": name} for name in ICONS], ("icon",))
