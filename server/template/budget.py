"""What a script may use up: steps, characters, time. Charged wherever a script can repeat something or make it grow."""

import time

from server.errors import BudgetSpent

MAX_TEMPLATE_CHARS = 256 * 1024
MAX_OUTPUT_CHARS = 16 * 1024 * 1024  # of one text that a template makes, its output among them
MAX_TOTAL_CHARS = 64 * 1024 * 1024  # of all texts that one rendering makes on its way
MAX_STEPS = 1_000_000  # iterations, calls, compared and copied elements
MAX_ELEMENTS = 100_000  # of a list that a script makes out of nothing
MAX_SECONDS = 10.0  # when the caller names no end
STEPS_A_LOOK = 512  # between two looks at the clock


class Budget:
    """One for each rendering, or for all of an automation. ends_at: on the monotonic clock."""

    __slots__ = ("steps", "chars", "ends_at", "_look")

    def __init__(
        self, steps: int = MAX_STEPS, chars: int = MAX_TOTAL_CHARS, ends_at: float | None = None
    ) -> None:
        self.steps = steps
        self.chars = chars
        self.ends_at = time.monotonic() + MAX_SECONDS if ends_at is None else ends_at
        self._look = STEPS_A_LOOK

    def step(self, number: int = 1) -> None:
        """Use up steps. Raises BudgetSpent."""
        self.steps -= number
        if self.steps < 0:
            raise BudgetSpent("the script takes more steps than it may; let it handle less at once")
        self._look -= number
        if self._look < 0:
            self._look = STEPS_A_LOOK
            self.look()

    def look(self) -> None:
        """Look at the clock, between two things that may each take a while. Raises BudgetSpent."""
        if time.monotonic() > self.ends_at:
            raise BudgetSpent("the script takes longer than it may; let it handle less at once")

    def text(self, chars: int) -> None:
        """Before a text of so many characters is made. Raises BudgetSpent."""
        if chars > MAX_OUTPUT_CHARS:
            raise BudgetSpent(f"a text of {chars:,} characters is too long; scripts make {MAX_OUTPUT_CHARS:,} at most")
        self.chars -= chars
        if self.chars < 0:
            raise BudgetSpent("the script makes more text than it may; let it handle less at once")

    def elements(self, number: int) -> None:
        """Before a list of so many elements is made. Raises BudgetSpent."""
        if number > MAX_ELEMENTS:
            raise BudgetSpent(f"a list of {number:,} elements is too long; scripts make {MAX_ELEMENTS:,} at most")
        self.step(number)
