"""The store of a PostgreSQL database, for several processes on as many machines as one likes.

What differs from SQLite stands here alone: texts of statements, tables, full text, errors, connections."""
