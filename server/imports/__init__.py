"""Imports tables: reads a CSV file, maps its columns, and writes every row as the API would, all of them or none."""
