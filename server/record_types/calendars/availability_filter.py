"""The filter `status:` of events: available or busy."""

from server.search.filters import ChoiceFilter

STATUS = ChoiceFilter(
    "status",
    "available or busy; the first letter is enough.",
    "is_available",
    {"available": 1, "busy": 0, "yes": 1, "no": 0},
    ("available", "busy"),
)
