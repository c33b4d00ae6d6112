"""Data queries: texts that request lists, counts and series of records.

frame.py runs a query, text to result query_type.py the declaration of a type of query reading.py text to values
data_query.py typed access to the values, for a type kinds/ one file for each type"""
