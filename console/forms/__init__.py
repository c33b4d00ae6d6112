"""Forms of records, which the declarations of their types fill."""
