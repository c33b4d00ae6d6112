"""Data queries: texts that request lists, counts and series of records.

query_run.py     runs a query, from its text to the result
query_type.py    declares a type of query
query_values.py  reads the text into values
data_query.py    gives a type of query its values, typed
kinds/           one file for each type
desk_figures.py  the figures of the start page"""
