"""The shape of a statement follows from the code that composes it and its closure: no two texts share a shape."""

import ast
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from server.search.conditions import ALWAYS, Condition, equals, slots_from
from server.store.statement_shapes import NoShape, keyed, shape_of
from server.store.statements import SQLITE_COMPOSER, StatementCache, slot
from server.store.tables import Column, Table, table_named
from tests import composed_anew, databases
from tests.store.builders import closures, sources
from tests.store.conftest import PUMP

# Permitted closures of a builder, by annotation or assigned expression.
MAY_STAND = re.compile(
    r"argument (str|bool|Table|Text|TextIndex|Condition|tuple\[.*|Callable\[\.\.\., Any\]|Reached \| None)"
    r"|.*\.sql(\.alias\(.*\))?|.*\.table|table_named\(.*\)(\.alias\(.*\))?|tuple\(.*\)|\(.*\)|bool\(.*\)|ORDER\[uri\]"
    r"|_shape\(selection\)|stand_in\(.*\)|_waiting\(record_type\)"
    r"|.*\.condition|.*readable\(.*\)|.*\.ids_of\(.*\)|'\w+' if \w+ else '\w+'",
    re.DOTALL,
)
# Composed of objects that cannot be compared: filters that sort, dimensions that count, conditions that are bits, and a
# number of slots.
KEYED = {
    "server/automation/rules/rule_list.py",
    "server/automation/uses.py",
    "server/counting/combinations.py",
    "server/counting/chart_points.py",
    "server/queries/reports/field_values.py",
    "server/queries/reports/range_count.py",
    "server/search/select.py",
    "server/tickets/customer.py",
}


def made(**names: Any) -> Callable[[], Any]:
    """A builder, always from the same place, that closes over this value."""
    text = ", ".join(names)
    space: dict[str, Any] = {"table_named": table_named, "slot": slot}
    exec(f"def outer({text}):\n    return lambda: ({text}, table_named('pump').select(slot(0)))[-1]", space)  # noqa: S102
    builder: Callable[[], Any] = space["outer"](**names)
    return builder


def column(name: str) -> Callable[[], Any]:
    return lambda: PUMP.sql.select(getattr(PUMP.sql, name))


def whole(table: Table) -> Callable[[], Any]:
    return lambda: table.sql.select(*table.all_columns)


def cache() -> StatementCache[Any]:
    return StatementCache(SQLITE_COMPOSER.statement)


def test_one_place_with_the_same_parts_is_one_shape() -> None:
    found = cache()
    assert found.get(column("name")) is found.get(column("name"))
    assert "litres" in found.get(column("litres")).sql and len(found.all()) == 2


def test_two_places_are_two_shapes_though_their_code_is_equal() -> None:
    spaces: list[dict[str, Any]] = [{"table": table_named("pump")}, {"table": table_named("well")}]
    for space in spaces:
        exec("build = lambda: table.select(table.c.id)", space)  # noqa: S102
    first, second = (space["build"] for space in spaces)
    assert first.__code__ == second.__code__
    found = cache()
    assert (found.get(first).sql, found.get(second).sql) == (
        'SELECT "t1"."id" FROM "pump" AS "t1"', 'SELECT "t1"."id" FROM "well" AS "t1"'
    )  # fmt: skip


def test_the_code_of_a_shape_stays_while_its_statement_does() -> None:
    """Another function could otherwise reuse its address in memory, and with it the shape."""
    found, shapes = cache(), set()
    for number in range(50):
        space: dict[str, Any] = {"table": table_named(f"pump{number}")}
        exec("build = lambda: table.select(table.c.id)", space)  # noqa: S102
        assert f"pump{number}" in found.get(space["build"]).sql
        shapes.add(shape_of(space.pop("build")))
    assert len(shapes) == len(found.all()) == 50


def test_builders_from_a_loop_differ_by_their_closures() -> None:
    found = cache()
    builders = []
    for name in ("name", "place", "litres"):
        builders.append(lambda: PUMP.sql.select(getattr(PUMP.sql, name)))  # noqa: B023, what is tried
        assert name in found.get(builders[-1]).sql
    assert {found.get(each).sql for each in builders} == {found.get(builders[-1]).sql}  # all see the last name


def test_a_table_that_comes_again_with_other_columns_is_another() -> None:
    found = cache()
    for columns in (("name",), ("name", "size")):
        table = Table("custom", [Column(name, "TEXT") for name in columns])
        assert found.get(whole(table)).sql.count('"t1".') == len(columns) + 1


def test_conditions_differ_by_shape_and_retain_no_values() -> None:
    def built(condition: Condition) -> Callable[[], Any]:
        return lambda: PUMP.sql.select().where(condition.build(slots_from(0)))

    found = cache()
    kept = found.get(built(equals(PUMP.sql.name, "secret")))
    assert found.get(built(equals(PUMP.sql.name, "other"))) is kept
    assert found.get(built(equals(PUMP.sql.place, "secret"))) is not kept and found.get(built(ALWAYS)) is not kept
    [[_, condition], *_] = [list(shape) for shape in found._statements if isinstance(shape, tuple)]
    assert isinstance(condition, Condition) and condition.values == ()


@pytest.mark.parametrize(
    "content",
    [1, 1.5, {"name": 1}, ["name"], b"x", ("name", 1), object(), (lambda: lambda: 1)(), PUMP.sql.name, partial(int)],
)
def test_what_is_no_part_of_a_shape_is_refused(content: Any) -> None:
    with pytest.raises(NoShape, match="closes over"):
        cache().get(made(content=content))


@pytest.mark.parametrize("content", ["name", True, None, ("name", "place"), frozenset({"name"}), PUMP, PUMP.sql, slot])
def test_what_is_part_of_a_shape_is_taken(content: Any) -> None:
    assert cache().get(made(content=content)).sql


def test_the_tests_refuse_a_value_in_the_text() -> None:
    def built(name: str) -> Callable[[], Any]:
        return lambda: PUMP.sql.select().where(PUMP.sql.name == name)

    with pytest.raises(AssertionError, match="a value of the statement"):
        cache().get(built("p"))
    assert cache().get(built("")).sql  # at most one more statement


def test_what_is_no_plain_function_is_refused() -> None:
    for build in (partial(made), PUMP.sql.select, type("B", (), {"__call__": lambda self: None})()):
        with pytest.raises(NoShape, match="no plain function"):
            cache().get(build)
    with pytest.raises(NoShape, match="starts as"):
        cache().get(lambda table=PUMP.sql: table.select())


def test_the_tests_notice_one_shape_with_two_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check that is active in all tests; see tests/composed_anew.py."""
    monkeypatch.setattr(composed_anew, "_counts", {})
    get = composed_anew._compared(StatementCache.get)
    found = cache()
    for name, is_right in (("name", True), ("place", False)):
        build = keyed(column(name), "by hand")
        if is_right:
            get(found, build)
        else:
            with pytest.raises(AssertionError, match="one shape, two texts"):
                get(found, build)


def test_builders_close_over_names_tables_and_conditions_only() -> None:
    """Other closures would create a statement for each value, or let two texts share a shape."""
    found = list(closures())
    odd = [each for each in found if not MAY_STAND.fullmatch(each.meaning) and each.place.split(":")[0] not in KEYED]
    assert len(found) > 250 and not odd


def test_shapes_by_hand_are_few() -> None:
    found = {
        path for path, text in sources() if re.search(r"from server.store.statement_shapes import .*\bkeyed\b", text)
    }
    assert found == KEYED


def test_a_table_has_one_handle() -> None:
    """The handle of its declaration, or table_named where that cannot be imported: two handles could differ in columns
    or names."""
    own = {"server/store/tables.py", "server/store/fulltext.py"}
    assert {path for path, text in sources() if "peewee.Table(" in text} == own


def test_handles_name_tables_that_there_are(desk: Any) -> None:
    there = {"sqlite_sequence", *desk.read(lambda tx: databases.tables(tx.connection))}  # used with a file only
    named = {name for _, text in sources() for name in re.findall(r'table_named\("(\w+)"\)', text)}
    assert len(named) > 25 and named <= there


def test_private_parts_of_peewee_are_used_in_one_file() -> None:
    """No attribute with a leading underscore is accessed on another object."""
    odd = []
    for path, text in sources():
        if "import peewee" not in text or path == "server/store/peewee_parts.py":
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr):
                owner = ast.unparse(node.value)
                if (f"self.{node.attr}" not in text and f"def {node.attr}(" not in text) or owner == "peewee":
                    odd.append(f"{path}:{node.lineno} {owner}.{node.attr}")
    assert not odd
