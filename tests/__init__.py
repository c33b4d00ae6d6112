"""Tests. A package, so that a folder of them is not taken for the code of the same name, such as console."""
