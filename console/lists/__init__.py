"""Lists of records: rows, columns, choices, files of them."""
