"""The service. Keeps peewee from importing drivers of databases: it would import every one that is installed, of which
psycopg alone takes as long as a third of all that a start imports. The store connects by itself."""

import sys

DRIVERS = frozenset(("psycopg", "psycopg2", "psycopg2cffi", "pysqlite3", "pymysql", "MySQLdb", "sqlite3"))


class DriverHider:
    """Finds no driver as long as peewee is being imported; a part of Python's search for modules."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Nothing, for the others to look on. Raises ModuleNotFoundError for what is not to be found."""
        if name in DRIVERS and "peewee" in sys.modules and not hasattr(sys.modules["peewee"], "Model"):
            raise ModuleNotFoundError(f"no driver is needed to compose statements: {name}", name=name)


sys.meta_path.insert(0, DriverHider)
