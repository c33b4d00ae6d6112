"""The store of a PostgreSQL database, for any number of processes on any number of machines.

Everything that differs from SQLite is in this package: the text of statements, tables, full text, errors and
connections."""
