"""The benchmark: `make bench`, or `python -m tests.bench --help`. Not part of the tests."""
