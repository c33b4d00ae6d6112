"""Limits of a script: steps, memory and time. A script is charged wherever it can repeat or grow something, before the
work is done: a single piece of work cannot be interrupted, so it must be small."""

import sys
import time

from server.errors import BudgetSpent

MiB = 1024 * 1024
MAX_TEMPLATE_CHARS = 256 * 1024
MAX_OUTPUT_CHARS = 16 * MiB  # including the output of a template
MAX_MEMORY = 64 * MiB  # bytes of everything that one rendering creates, discarded values included
MAX_STEPS = 1_000_000  # iterations, calls, compared and copied elements; each takes at most 2 microseconds
MAX_ELEMENTS = 100_000  # limits a single list
MAX_TEMPLATE_SECONDS = 2.0  # per rendering
MAX_SECONDS = 10.0  # all renderings of a task, unless the caller sets a deadline
STEPS_A_CHECK = 512  # steps between two checks of the clock
CHARS_A_CHECK = 64 * 1024  # above this length, a text is a reason to check the clock
ELEMENT_BYTES = 64  # an entry of a list or a map, without its value
HEADER_BYTES = 72  # header of a text that is not ASCII


class Budget:
    """The remaining budget of one rendering, or of a whole automation. memory: in bytes. ends_at: on the monotonic
    clock. latest: the limit up to which `ends_at` may move while the script waits for the service."""

    __slots__ = ("steps", "memory", "ends_at", "latest", "_steps_to_check", "_part")

    def __init__(self, steps: int = MAX_STEPS, memory: int = MAX_MEMORY, ends_at: float | None = None) -> None:
        self.steps = steps
        self.memory = memory
        self.ends_at = self.latest = time.monotonic() + MAX_SECONDS if ends_at is None else ends_at
        self._steps_to_check = STEPS_A_CHECK
        self._part: Budget | None = None

    def part(self) -> "PartOfBudget":
        """Returns the budget of one rendering as a part of this one, for `with`."""
        return PartOfBudget(self)

    def end(self) -> None:
        """Ends the budget now. May be called from another thread."""
        self.ends_at = self.latest = time.monotonic()
        if self._part is not None:
            self._part.end()

    def exclude_wait(self, seconds: float) -> None:
        """Moves the deadline by the time that a call into the service took, which has limits of its own."""
        self.ends_at = min(self.ends_at + seconds, self.latest)
        self.check_time()

    def step(self, number: int = 1) -> None:
        """Uses steps. Raises BudgetSpent."""
        self.steps -= number
        if self.steps < 0:
            raise BudgetSpent("the script takes more steps than it may; let it handle less at once")
        self._steps_to_check -= number
        if self._steps_to_check < 0:
            self._steps_to_check = STEPS_A_CHECK
            self.check_time()

    def check_time(self) -> None:
        """Checks the clock, between two operations that may each take a while. Raises BudgetSpent."""
        if time.monotonic() > self.ends_at:
            raise BudgetSpent("the script takes longer than it may; let it handle less at once")

    def allocate(self, memory: int) -> None:
        """Charges bytes of memory before they are allocated. Raises BudgetSpent."""
        self.memory -= memory
        if self.memory < 0:
            raise BudgetSpent("the script takes more memory than it may; let it handle less at once")

    def text(self, chars: int, like: str = "") -> None:
        """Charges a text before it is created. like: a text with the same range of characters. Raises BudgetSpent."""
        if chars > MAX_OUTPUT_CHARS:
            raise BudgetSpent(f"a text of {chars:,} characters is too long; scripts make {MAX_OUTPUT_CHARS:,} at most")
        self.allocate(chars * _width(like))
        if chars > CHARS_A_CHECK:
            self.check_time()

    def entries(self, number: int, bytes_each: int = ELEMENT_BYTES) -> None:
        """Charges entries of lists and maps before they are created or copied. Raises BudgetSpent."""
        self.step(number)
        self.allocate(number * bytes_each)

    def elements(self, number: int) -> None:
        """Charges one list before it is created. Raises BudgetSpent."""
        if number > MAX_ELEMENTS:
            raise BudgetSpent(f"a list of {number:,} elements is too long; scripts make {MAX_ELEMENTS:,} at most")
        self.entries(number)


class PartOfBudget:
    """The budget of one rendering: at most its own limits and what remains of the whole, from which its use is
    subtracted."""

    __slots__ = ("_whole", "_outer", "_part", "_steps", "_memory")

    def __init__(self, whole: Budget) -> None:
        self._whole = whole

    def __enter__(self) -> Budget:
        whole = self._whole
        self._steps, self._memory = min(whole.steps, MAX_STEPS), min(whole.memory, MAX_MEMORY)
        ends_at = min(whole.ends_at, time.monotonic() + MAX_TEMPLATE_SECONDS)
        part = self._part = Budget(self._steps, self._memory, ends_at)
        part.latest, self._outer, whole._part = whole.latest, whole._part, part
        return part

    def __exit__(self, *error: object) -> None:
        whole, part = self._whole, self._part
        whole._part = self._outer
        whole.steps -= self._steps - part.steps
        whole.memory -= self._memory - part.memory


def _width(text: str) -> int:
    """Returns the bytes that a character takes in a text: 1, 2 or 4, the width of its widest character."""
    if text.isascii():
        return 1
    return min(max((sys.getsizeof(text) - HEADER_BYTES) // (len(text) + 1), 1), 4)
