"""Endpoints for a single record type each, for older scripts. They do the same as the records API, but accept fields as
parameters of their own.

    families.py  which types have which of these endpoints
    single.py    one record: read, create, change, delete
    search.py    criteria, order, pages
    further.py   what only some types have: notes, snippets, fields"""
