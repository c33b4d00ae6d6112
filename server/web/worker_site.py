"""The site of a process that only runs jobs. It serves only /health and /metrics, which are separate sites."""

import sys

from server.errors import Unavailable
from server.web.endpoint_call import Response
from server.web.site import Request, Site

MESSAGE = "this process only runs jobs and serves /health and /metrics; use one whose role is web or all"


class WorkerSite(Site):
    """Responds with 503 to all other paths, so that a misconfigured load balancer tries another process."""

    is_apart = True

    def limit(self, request: Request) -> int:
        return sys.maxsize  # no limit: the body is refused before it is read

    def admit(self, request: Request) -> Response | None:
        raise Unavailable(MESSAGE)

    def respond(self, request: Request, steps: int | None) -> Response:
        raise Unavailable(MESSAGE)
