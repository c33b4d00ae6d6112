"""What a process answers that is there for jobs: nothing but /health and /metrics, which have sites of their own."""

import sys

from server.errors import Unavailable
from server.web.call import Answer
from server.web.site import Request, Site

MESSAGE = "this process does jobs and answers /health and /metrics alone; ask one whose role is web or all"


class WorkerSite(Site):
    """Everything else: 503, so that a load balancer which asks here by mistake asks another process."""

    is_apart = True

    def limit(self, request: Request) -> int:
        return sys.maxsize  # of a body that is refused before it is read

    def admit(self, request: Request) -> Answer | None:
        raise Unavailable(MESSAGE)

    def answer(self, request: Request, steps: int | None) -> Answer:
        raise Unavailable(MESSAGE)
