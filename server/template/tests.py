"""The tests of the language, behind `is`."""
