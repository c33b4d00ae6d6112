"""The dimensions that `by:` can name: where the values of a field are in the database, and their labels.

options.py name@unit~n sources.py columns, joined tables, custom values base.py the base class resolve.py a name to a
dimension dates.py plain.py records.py pairs.py one kind of field each"""
