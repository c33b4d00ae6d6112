"""The service. Keeps peewee from importing every installed database driver, of which psycopg alone takes a third of the
import time of a start. The store connects without peewee."""

import sys

DRIVERS = frozenset(("psycopg", "psycopg2", "psycopg2cffi", "pysqlite3", "pymysql", "MySQLdb", "sqlite3"))


class DriverHider:
    """Hides drivers while peewee is imported; a finder on sys.meta_path."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Returns None, so that the next finder is asked. Raises ModuleNotFoundError for a hidden driver."""
        if name in DRIVERS and "peewee" in sys.modules and not hasattr(sys.modules["peewee"], "Model"):
            raise ModuleNotFoundError(f"no driver is needed to compose statements: {name}", name=name)


sys.meta_path.insert(0, DriverHider)
