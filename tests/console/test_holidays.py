"""The page with the holidays of a calendar."""

import pytest

from tests.console.visitor import Visitor, place, text_of
from tests.desk.test_holidays import FILE
from tests.service import Api


@pytest.fixture
def path(nora: Api) -> str:
    id = nora.create("calendar", name="Opening hours", owner__context="app", owner_id=0).ok()["id"]
    return f"/records/calendar/{id}/holidays"


def test_days_are_added_and_removed(signed_in: Visitor, nora: Api, path: str) -> None:
    assert path in signed_in.get(path.removesuffix("/holidays")).text
    assert place(signed_in.send(path, {"days": "2026-12-25 Christmas\n1 May Labour Day"}, page=path)) == path
    html = signed_in.get(path).text
    page = text_of(html)
    assert html.count('name="ids[]"') == 4  # of each row, and of the undo
    assert "2 days added." in page and "May 1 Labour Day every year" in page
    assert "Fri Dec 25 2026 Christmas once" in page
    ids = nora.found("calendar_event_recurring", f"calendar.id:{path.split('/')[3]} Labour")
    signed_in.send(f"{path}/remove", {"ids[]": str(ids[0])}, page=path)
    page = text_of(signed_in.get(path).text)
    assert "1 day removed." in page and "Labour" not in page


def test_a_calendar_file_is_added(signed_in: Visitor, path: str) -> None:
    form = {"days": (None, ""), "yearly": (None, "1"), "file": ("days.ics", FILE.encode(), "text/calendar")}
    response = signed_in.post(path, None, files=form | {"_xsrf": (None, signed_in.token(path))})
    assert response.status_code == 303, text_of(response.text)
    page = text_of(signed_in.get(path).text)
    assert "4 days added." in page and "Dec 26 Christmas, both days every year" in page
    assert "fourth thursday of november Thanksgiving every year" in page


def test_a_line_without_a_day_is_refused(signed_in: Visitor, path: str) -> None:
    for days, problem in (("Easter", "Line 1: 'Easter' has no date"), ("", "Write a day, or choose a file")):
        response = signed_in.send(path, {"days": days}, page=path)
        assert response.status_code == 422 and problem in text_of(response.text)
