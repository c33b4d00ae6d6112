"""SCIM as a site: the token of a request, the limits, and the format of errors. The rest is imported with the first
request, since few services use it."""

import json
from contextlib import suppress

from server import clock, log, times
from server.access.lockout import address
from server.context import Context, Service
from server.errors import HelpdeskError, NotFound, Unavailable
from server.sign_in import provisioning_tokens
from server.sign_in.provisioning_tokens import ProvisioningToken
from server.web.endpoint_call import Response
from server.web.hosts import host_name
from server.web.rate import RateLimiter
from server.web.rest_site import bearer
from server.web.site import Request, Site

SCIM_PATH = "/scim/v2/"
MAX_BODY_BYTES = 1024 * 1024
MAX_REQUESTS_PER_MINUTE = 1200  # requests with one token
MAX_ADDRESS_REQUESTS_PER_MINUTE = 1200  # requests from one address, with any token
LOG = log.get("scim")


class ScimSite(Site):
    """All paths below /scim/v2/."""

    packs = True

    def __init__(self, service: Service) -> None:
        self.service = service
        self.by_token = RateLimiter(MAX_REQUESTS_PER_MINUTE, "with one provisioning token", service)
        self.by_address = RateLimiter(MAX_ADDRESS_REQUESTS_PER_MINUTE, "from one address to provisioning", service)

    def limit(self, request: Request) -> int:
        return MAX_BODY_BYTES

    def admit(self, request: Request) -> Response | None:
        """Refuses a request without a valid token before its body is sent."""
        request.route = SCIM_PATH
        self._count(request)
        self._token(request)
        return None

    def looks(self, request: Request) -> bool:
        return True

    def respond(self, request: Request, steps: int | None) -> Response:
        from server.web.scim import scim_resources  # seldom needed

        self._count(request)
        token, now = self._token(request), clock.now()
        self.by_token.count(token.id, now)
        actor = provisioning_tokens.actor(token)
        response = scim_resources.respond(Context(self.service, actor, now, times.zone("UTC"), request.id), request)
        if provisioning_tokens.is_used_again(token, now):
            with suppress(Unavailable):  # the disk may be full, which must not stop reads
                self.service.store.write(lambda tx: provisioning_tokens.record_use(tx, token.id, now, request.client))
        return response

    def failure(self, error: HelpdeskError) -> Response:
        from server.web.scim import scim_errors
        from server.web.scim.scim_resources import MEDIA_TYPE

        status, kind = scim_errors.status_and_type(error)
        LOG.info("refused", status=status, kind=kind)
        body = json.dumps(scim_errors.body(error), ensure_ascii=False).encode()
        return Response(status=status, headers=scim_errors.headers(error), body=body, content_type=MEDIA_TYPE)

    def _count(self, request: Request) -> None:
        """Counts a request once. Raises TooMany."""
        if not request.is_counted:
            request.is_counted = True
            self.by_address.count(address(request.client), clock.now())

    def _token(self, request: Request) -> ProvisioningToken:
        """Returns the token of a request. Raises NotFound at another host than that of the service, and while there is
        no token; NotAuthenticated."""
        own = host_name(self.service.base_url.partition("://")[2].partition("/")[0])
        if host_name(request.headers.get("Host", "")) != own:
            raise NotFound(f"provisioning is only at {self.service.base_url}{SCIM_PATH}")
        has_header = "Authorization" in request.headers
        text = bearer(request) if has_header else ""
        return self.service.store.read(lambda tx: provisioning_tokens.check(tx, text))
