"""Requests of the API that do what a page does, as curl, Python and JavaScript."""

import json
from collections.abc import Sequence
from typing import Any

from console.http.visit import Visit
from server.dataclass import dataclass
from server.web.curl_commands import shell_word as shell


@dataclass(frozen=True)
class Sample:
    """A request of the API that does what a page does. fields: of the form, as they are sent."""

    method: str
    path: str
    fields: Sequence[tuple[str, str]] = ()


def as_curl(visit: Visit, each: Sample) -> str:
    lines = [f'curl -H "Authorization: Bearer $HELPDESK_TOKEN" -X {each.method}']
    if each.method == "GET" and each.fields:
        lines[0] = lines[0].replace("curl", "curl -G").replace(" -X GET", "")
    lines += [f"  --data-urlencode {shell(f'{name}={value}')}" for name, value in each.fields]
    lines.append(f"  {shell(visit.service.base_url + each.path)}")
    return " \\\n".join(lines)


def as_python(visit: Visit, each: Sample) -> str:
    where = "params" if each.method == "GET" else "data"
    fields = f", {where}={_listed(each)!r}" if each.fields else ""
    return (
        "import os, requests\n\n"
        'headers = {"Authorization": "Bearer " + os.environ["HELPDESK_TOKEN"]}\n'
        f'response = requests.request("{each.method}", "{visit.service.base_url}{each.path}", '
        f"headers=headers{fields})\n"
        "print(response.json())"
    )


def _listed(each: Sample) -> Any:
    """The fields as a map, or as pairs where a name stands there twice; both libraries take either."""
    fields = dict(each.fields)
    return fields if len(fields) == len(each.fields) else list(each.fields)


def as_javascript(visit: Visit, each: Sample) -> str:
    fields = json.dumps(_listed(each), ensure_ascii=False)
    address = json.dumps(visit.service.base_url + each.path)
    options = f'method: "{each.method}", headers: {{Authorization: `Bearer ${{process.env.HELPDESK_TOKEN}}`}}'
    if each.fields and each.method == "GET":
        address = f"{address} + '?' + new URLSearchParams({fields})"
    elif each.fields:
        options += f", body: new URLSearchParams({fields})"
    return f"const response = await fetch({address}, {{{options}}});\nconsole.log(await response.json());"
