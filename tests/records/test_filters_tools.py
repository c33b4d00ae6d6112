"""Searches of reminders, time, sales, snippets, the knowledge base and files."""

import pytest

from server.errors import BadQuery

FAMILY = "tools"


@pytest.mark.parametrize(
    ("uri", "q", "finds"),
    [
        ("reminder", "worker:(firstName:milo)", True),
        ("reminder", "owner:(firstName:olga)", False),
        ("reminder", "worker.id:milo closed:no", True),
        ("reminder", "remindAt:tomorrow", False),
        ("time_entry", "leaks", True),
        ("time_entry", "text:leaks comments:pump", True),
        ("time_entry", "text:dry", False),
        ("time_entry", 'timeSpent:">1 hour"', True),
        ("time_entry", "secs:<1000", False),
        ("time_entry", "mins:5400", True),
        ("time_entry", "worker:(firstName:milo) activity.id:>0", True),
        ("opportunity", "amount:>100000 currency.id:>0", True),
        ("opportunity", "status:[o,w]", True),
        ("opportunity", "status:0", True),
        ("opportunity", "status:lost", False),
        ("opportunity", "closedDate:never comments:leaks", True),
        ("currency", "code:us decimalPlaces:2 default:yes", True),
        ("currency", "symbol:$", True),
        ("saved_search", "context:ticket", True),
        ("saved_search", "context:tickets", True),
        ("saved_search", "context:contexts.ti", True),
        ("saved_search", "context:task", False),
        ("saved_search", "tag:pump query:status", True),
        ("snippet", "type:ticket myUses:0", True),
        ("snippet", "type:[plaintext,task]", False),
        ("snippet", "type:!plaintext", True),
        ("snippet", "owner.app:any content:subject", True),
        ("kb_article", "valve", True),
        ("kb_article", "content:valve", True),
        ("kb_article", "content:starting", False),
        ("kb_article", "starting first", True),
        ("kb_article", "category.id:null", False),
        ("kb_article", "category.id:>0 format:2 views:>5", True),
        ("kb_category", "parent.id:null", False),
        ("kb_category", "article.id:>0", True),
        ("file_bundle", "tag:pump comments:leaks", True),
        ("resource", "size:3 type:csv isDynamic:no", True),
        ("resource", "size:>3", False),
        ("queue", "name:jobs watchers:(firstName:olga)", True),
    ],
)
def test_filters_find_the_described_records(filled, uri, q, finds):
    desk, made = filled
    assert (made[uri] in desk.found(uri, q)) is finds


@pytest.mark.parametrize(
    ("uri", "q", "names"),
    [
        ("opportunity", "status:maybe", "status"),
        ("time_entry", "timeSpent:blurb", "timeSpent"),
        ("saved_search", "links:any", "links"),
        ("snippet", "myUses:often", "myUses"),
        ("snippet", "myUses:(times:5)", "myUses"),
        ("snippet", "myUses:(date:blurb)", "myUses"),
    ],
)
def test_nonsensical_values_are_refused(filled, uri, q, names):
    desk, _ = filled
    with pytest.raises(BadQuery, match=names):
        desk.found(uri, q)
