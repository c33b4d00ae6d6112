"""Stands in for curl in the tour, on machines that have none: the options that README.md uses, and no others."""

import argparse
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote_plus
from urllib.request import Request, urlopen


def main() -> None:
    """Send the request, print the answer's body whatever its status."""
    options = parser().parse_args()
    data = "&".join(text if is_encoded else encoded(text) for is_encoded, text in options.data)
    url = f"{options.url}?{data}" if options.get and data else options.url
    body = data.encode() if data and not options.get else None
    request = Request(url, body, dict(line.split(": ", 1) for line in options.header), method=options.request)
    try:
        answer = urlopen(request)
    except HTTPError as error:
        answer = error
    sys.stdout.write(answer.read().decode())


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="curl")
    found.add_argument("url")
    found.add_argument("-s", "-S", action="store_true")
    found.add_argument("-G", dest="get", action="store_true")
    found.add_argument("-X", dest="request")
    found.add_argument("-H", dest="header", action="append", default=[])
    found.add_argument("-d", dest="data", action="append", type=lambda text: (True, text), default=[])
    found.add_argument("--data-binary", dest="data", action="append", type=lambda text: (True, content(text)))
    found.add_argument("--data-urlencode", dest="data", action="append", type=lambda text: (False, text))
    return found


def content(text: str) -> str:
    """`@file`, as it is."""
    return Path(text.removeprefix("@")).read_bytes().decode()


def encoded(text: str) -> str:
    """`name=text` or `name@file`, percent-encoded."""
    is_file = "@" in text and "=" not in text.split("@", 1)[0]
    name, value = text.split("@" if is_file else "=", 1)
    return f"{name}={quote_plus(Path(value).read_bytes() if is_file else value)}"


if __name__ == "__main__":
    main()
