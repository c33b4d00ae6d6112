"""Tables, indexes, functions and triggers in PostgreSQL: creates them and reads those of a database."""

import hashlib

from server.errors import Damaged
from server.store.fulltext import TextIndex
from server.store.postgresql.folding import FOLDING
from server.store.recounting import recount
from server.store.sqlite_schema import NUMBER, SCHEMA_NUMBER
from server.store.tables import Column, Index, KeptCounts, Table, column_text, index_name, with_counts
from server.store.transaction import Transaction

MAX_NAME = 63  # bytes; PostgreSQL truncates longer names
KINDS = {"INTEGER": "bigint", "REAL": "double precision", "BLOB": "bytea", "ANY": 'text COLLATE "C"'}
TEXT = {True: 'citext COLLATE "C"', False: 'text COLLATE "C"'}

EXTENSION = "citext"
# citext ignores the case of ASCII letters and of the letters that the locale of the database knows, regardless of the
# collation; svc_fold follows Unicode (folding.py). svc_date_part computes parts of dates from Unix seconds.
FUNCTIONS = (
    *FOLDING,
    """CREATE OR REPLACE FUNCTION svc_date_part(at bigint, zone text, part text) RETURNS bigint LANGUAGE sql STABLE
    PARALLEL SAFE AS $$ SELECT CASE part
        WHEN 'weekday' THEN extract(dow FROM here)
        WHEN 'month' THEN extract(month FROM here)
        WHEN 'day' THEN extract(day FROM here)
        WHEN 'week' THEN floor((extract(doy FROM here) + 6 - extract(dow FROM here)) / 7)
        WHEN 'hour' THEN extract(hour FROM here)
        ELSE extract(hour FROM here) * 60 + extract(minute FROM here)
    END::bigint FROM (SELECT to_timestamp(nullif(at, 0)) AT TIME ZONE zone AS here) AS local $$""",
    """CREATE OR REPLACE FUNCTION svc_bump() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN UPDATE version SET value = value + 1 WHERE name = TG_ARGV[0]; RETURN NULL; END $$""",
)


def texts_of(tables: list[Table], texts: list[TextIndex]) -> list[str]:
    """Returns all statements that create these declarations."""
    statements = [EXTENSION, *FUNCTIONS, *map(create_text_index, texts)]
    for table in with_counts(tables):
        statements += [create_text(table), *(text for _, text in index_texts(table))]
    return statements + [text for table in tables for _, text in _triggers(table)]


def add_missing(tx: Transaction, tables: list[Table]) -> None:
    """Adds missing tables, columns, indexes and triggers."""
    execute = tx.connection.execute
    if lacks_extension(tx):
        execute(f"CREATE EXTENSION {EXTENSION}")
    for text in FUNCTIONS:
        execute(text)
    for count in [each for table in tables for each in table.counts]:  # counts by other columns start over
        if columns_of(tx, count.name) != set(count.counts.names):
            execute(f'DROP TABLE IF EXISTS "{count.name}"')
    new = {add_table(tx, table) for table in with_counts(tables)}
    execute(
        "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value",
        (NUMBER, str(SCHEMA_NUMBER)),
    )
    for table in tables:
        added = _add_triggers(tx, table)
        for count in table.counts:
            # A count without its trigger, as under another program, has missed changes.
            if count.name in new or count.name in added:
                recount(tx, count)


def lacks_extension(tx: Transaction) -> bool:
    """Returns whether the extension has to be created. Raises Damaged if that is impossible."""
    if tx.connection.execute("SELECT 1 FROM pg_extension WHERE extname = $1", (EXTENSION,)):
        return False
    if not tx.connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = $1", (EXTENSION,)):
        raise Damaged(
            f"the server lacks the extension {EXTENSION}, which comes with PostgreSQL: install its contrib package "
            "there, such as postgresql-contrib"
        )
    if not tx.connection.execute("SELECT has_database_privilege(current_database(), 'CREATE')")[0][0]:
        raise Damaged(
            f"this user may not create the extension {EXTENSION} in the database; make the user its owner, or let an "
            f"administrator run there: CREATE EXTENSION {EXTENSION}"
        )
    return True


def add_table(tx: Transaction, table: Table) -> str | None:
    """Adds a table, or its missing columns and indexes; returns its name if it is new."""
    execute = tx.connection.execute
    present = columns_of(tx, table.name)
    if not present:
        execute(create_text(table))
    for column in table.columns:
        if present and column.name not in present:
            execute(f'ALTER TABLE "{table.name}" ADD COLUMN {_column_text(column)}')
    indexes = dict(index_texts(table))
    digests = _digests(tx, "pg_class", table.name)
    for name in indexes_of(tx, table) - indexes.keys():
        execute(f'DROP INDEX "{name}"')
        digests.pop(name, None)
    for name, text in indexes.items():
        if digests.get(name) != _digest(text):
            execute(f'DROP INDEX IF EXISTS "{name}"')
            execute(text)
            execute(f"COMMENT ON INDEX \"{name}\" IS '{_digest(text)}'")
    return None if present else table.name


def drop_table(tx: Transaction, table: Table) -> None:
    """Removes a table with its rows."""
    tx.connection.execute(f'DROP TABLE IF EXISTS "{table.name}"')


def columns_of(tx: Transaction, table: str) -> set[str]:
    """Returns the columns of a table in the database; empty if the table does not exist."""
    rows = tx.connection.execute(
        "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
        (f'"{table}"',),
    )
    return {row[0] for row in rows}


def is_empty(tx: Transaction) -> bool:
    """Returns whether the schema that ours would be created in has no tables."""
    rows = tx.connection.execute(
        "SELECT 1 FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
        "AND relkind IN ('r', 'p', 'v', 'm') LIMIT 1"
    )
    return not rows


def indexes_of(tx: Transaction, table: Table) -> set[str]:
    """Returns the names of the indexes of a table, except its primary key."""
    rows = tx.connection.execute(
        "SELECT relname::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
        "WHERE indrelid = to_regclass($1) AND NOT indisprimary",
        (f'"{table.name}"',),
    )
    return {row[0] for row in rows}


def _digests(tx: Transaction, catalog: str, table: str) -> dict[str, str]:
    """Returns {index or trigger of a table: digest of the statement that created it}."""
    name, owner = {"pg_class": ("relname", "pg_index.indrelid"), "pg_trigger": ("tgname", "tgrelid")}[catalog]
    join = " JOIN pg_index ON pg_index.indexrelid = pg_class.oid" if catalog == "pg_class" else ""
    rows = tx.connection.execute(
        f"SELECT {name}::text, obj_description({catalog}.oid, '{catalog}') FROM {catalog}{join} "
        f"WHERE {owner} = to_regclass($1)",
        (f'"{table}"',),
    )
    return {row[0]: row[1] or "" for row in rows}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def create_text(table: Table) -> str:
    """Returns the statement that creates a table."""
    columns = [_column_text(column) for column in table.columns]
    if table.key:
        columns.append("PRIMARY KEY ({})".format(", ".join(f'"{name}"' for name in table.key)))
    else:
        columns.insert(0, "id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY")
    return f'CREATE TABLE "{table.name}" ({", ".join(columns)})'


def _column_text(column: Column) -> str:
    kind = TEXT[column.nocase] if column.kind == "TEXT" else KINDS[column.kind]
    return column_text(column, kind, lambda value: f"'\\x{value.hex()}'::bytea")


def index_texts(table: Table) -> list[tuple[str, str]]:
    """Returns [(name, statement that creates the index)]."""
    return [(index_name(table, index)[:MAX_NAME], _index_text(table, index)) for index in table.indexes]


def _index_text(table: Table, index: Index) -> str:
    kinds = {column.name: column for column in table.columns}
    columns = ", ".join(_sorted_by(kinds.get(name), name) for name in index.columns)
    where = f" WHERE {index.where}" if index.where else ""
    name = index_name(table, index)[:MAX_NAME]
    return f'CREATE {"UNIQUE " if index.unique else ""}INDEX "{name}" ON "{table.name}" ({columns}){where}'


def _sorted_by(column: Column | None, name: str) -> str:
    """Returns the column of an index, with NULL first if it may be NULL, in the order of the statements."""
    return f'"{name}" NULLS FIRST' if column is not None and column.null else f'"{name}"'


def create_text_index(text: TextIndex) -> str:
    """Returns the statement that creates the table of a full-text index."""
    return f'CREATE TABLE "{text.name}" (rowid bigint PRIMARY KEY, "words" tsvector NOT NULL)'


def add_text(tx: Transaction, text: TextIndex) -> None:
    """Creates the index, in place of one with other columns."""
    execute = tx.connection.execute
    execute(f'DROP TABLE IF EXISTS "{text.name}"')
    execute(create_text_index(text))
    execute(f'CREATE INDEX "{text.name}_words" ON "{text.name}" USING gin ("words")')
    execute(f"COMMENT ON TABLE \"{text.name}\" IS '{','.join(text.columns)}'")


def text_parts(tx: Transaction, text: TextIndex) -> list[str]:
    """Returns the columns of the index in the database, [] if there is none."""
    row = tx.connection.execute("SELECT obj_description(to_regclass($1), 'pg_class')", (f'"{text.name}"',)).fetchone()
    return row[0].split(",") if row and row[0] else []


def _add_triggers(tx: Transaction, table: Table) -> set[str]:
    """Adds missing triggers; returns their names."""
    execute = tx.connection.execute
    triggers, added = dict(_triggers(table)), set()
    digests = _digests(tx, "pg_trigger", table.name)
    present = {name: digest for name, digest in digests.items() if not name.startswith("RI_")}
    for name in present.keys() - triggers.keys():
        execute(f'DROP TRIGGER "{name}" ON "{table.name}"')
    for name, text in triggers.items():
        if present.get(name) == _digest(text):
            continue
        execute(f'DROP TRIGGER IF EXISTS "{name}" ON "{table.name}"')
        for each in text.split(";;"):
            execute(each)
        execute(f'COMMENT ON TRIGGER "{name}" ON "{table.name}" IS \'{_digest(text)}\'')
        added.add(name)
    return added


def _triggers(table: Table) -> list[tuple[str, str]]:
    """Returns [(name, text)] of the triggers of a table. Triggers maintain versions and counts, so that no code path,
    and no other program, can omit an update."""
    triggers = []
    for version, columns in table.bumps.items():
        columns_clause = " OF {}".format(", ".join(f'"{name}"' for name in columns)) if columns else ""
        name = f"{table.name}_{version}"[:MAX_NAME]
        when = f'AFTER INSERT OR UPDATE{columns_clause} OR DELETE ON "{table.name}"'
        triggers.append((name, f"CREATE TRIGGER \"{name}\" {when} FOR EACH ROW EXECUTE FUNCTION svc_bump('{version}')"))
    return [*triggers, *map(_count_trigger, table.counts)]


def _count_trigger(counts: KeptCounts) -> tuple[str, str]:
    name, table, columns = counts.name, counts.of.name, counts.columns
    new, old = counts.values("NEW"), counts.values("OLD")
    those = " AND ".join(f'"{column}" = {value}' for column, value in zip(counts.counts.key, old, strict=True))
    same = " AND ".join(f"{after} = {before}" for after, before in zip(new, old, strict=True))
    more = (
        f'INSERT INTO "{name}" ({columns}, n) VALUES ({", ".join(new)}, 1) '
        f'ON CONFLICT ({columns}) DO UPDATE SET n = "{name}".n + 1;'
    )
    less = f'UPDATE "{name}" SET n = n - 1 WHERE {those}; DELETE FROM "{name}" WHERE {those} AND n <= 0;'
    function = f'"svc_{name}"'
    return name, (
        f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF TG_OP = 'UPDATE' THEN IF ({same}) THEN RETURN NULL; END IF; END IF; "
        f"IF TG_OP <> 'INSERT' THEN {less} END IF; IF TG_OP <> 'DELETE' THEN {more} END IF; RETURN NULL; END $$;;"
        f'CREATE TRIGGER "{name}" AFTER INSERT OR DELETE OR UPDATE OF {columns} ON "{table}" '
        f"FOR EACH ROW EXECUTE FUNCTION {function}()"
    )
