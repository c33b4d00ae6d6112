"""Data queries: texts that ask for lists, counts and series of records.

frame.py      a text becomes an answer       query_type.py  what a type of query says about itself
reading.py    text to values                 data_query.py  the values, checked and typed, for a type to read
types/        one file for each type"""
