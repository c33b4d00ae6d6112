"""Templates are rendered without a limit of time, so that no test depends on how busy the machine is."""

import math
from collections.abc import Iterator

import pytest

from server.template import budget


@pytest.fixture(autouse=True, scope="session")
def no_time_limit() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "MAX_TEMPLATE_SECONDS", math.inf)
        patch.setattr(budget, "MAX_SECONDS", math.inf)
        yield
