"""Tests. A package, so that a folder in it is not mistaken for the code of the same name, such as console."""
