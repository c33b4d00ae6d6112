"""Records from tables that people have: a CSV file is read, its columns are mapped, and every row is written as the API
would, all of them or none."""
