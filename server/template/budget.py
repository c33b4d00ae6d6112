"""What a script may use up: steps, memory, time. Charged wherever a script can repeat something or make it grow, before
it is done: one piece of work cannot be interrupted, so it must be small."""

import sys
import time

from server.errors import BudgetSpent

MiB = 1024 * 1024
MAX_TEMPLATE_CHARS = 256 * 1024
MAX_OUTPUT_CHARS = 16 * MiB  # of one text that a template makes, its output among them
MAX_MEMORY = 64 * MiB  # bytes of all that one rendering makes on its way, whether it is kept or not
MAX_STEPS = 1_000_000  # iterations, calls, compared and copied elements; each takes 2 microseconds at most
MAX_ELEMENTS = 100_000  # of a list that a script makes
MAX_TEMPLATE_SECONDS = 2.0  # of one rendering
MAX_SECONDS = 10.0  # of all renderings for one purpose, when the caller names no end
STEPS_A_LOOK = 512  # between two looks at the clock
CHARS_A_LOOK = 64 * 1024  # of a text that is worth a look of its own
ELEMENT_BYTES = 64  # that an entry of a list or a map takes, without its value
HEADER_BYTES = 72  # of a text that is not ASCII, before its characters


class Budget:
    """What is left for one rendering, or for all of an automation. memory: in bytes. ends_at: on the monotonic clock;
    `latest`: up to when waiting for others may put it off."""

    __slots__ = ("steps", "memory", "ends_at", "latest", "_look", "_part")

    def __init__(self, steps: int = MAX_STEPS, memory: int = MAX_MEMORY, ends_at: float | None = None) -> None:
        self.steps = steps
        self.memory = memory
        self.ends_at = self.latest = time.monotonic() + MAX_SECONDS if ends_at is None else ends_at
        self._look = STEPS_A_LOOK
        self._part: Budget | None = None

    def part(self) -> "PartOfBudget":
        """The budget of one rendering out of this one, for `with`."""
        return PartOfBudget(self)

    def end(self) -> None:
        """There is no time left. From another thread."""
        self.ends_at = self.latest = time.monotonic()
        if self._part is not None:
            self._part.end()

    def waited(self, seconds: float) -> None:
        """Time that others took, who have limits of their own, does not count for a rendering."""
        self.ends_at = min(self.ends_at + seconds, self.latest)
        self.look()

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

    def take(self, memory: int) -> None:
        """Before so many bytes of memory are taken. Raises BudgetSpent."""
        self.memory -= memory
        if self.memory < 0:
            raise BudgetSpent("the script takes more memory than it may; let it handle less at once")

    def text(self, chars: int, like: str = "") -> None:
        """Before a text of so many characters is made, of such as are in `like`. Raises BudgetSpent."""
        if chars > MAX_OUTPUT_CHARS:
            raise BudgetSpent(f"a text of {chars:,} characters is too long; scripts make {MAX_OUTPUT_CHARS:,} at most")
        self.take(chars * _width(like))
        if chars > CHARS_A_LOOK:
            self.look()

    def made(self, number: int, bytes_each: int = ELEMENT_BYTES) -> None:
        """Before so many entries of lists and maps are made or copied. Raises BudgetSpent."""
        self.step(number)
        self.take(number * bytes_each)

    def elements(self, number: int) -> None:
        """Before one list of so many elements is made. Raises BudgetSpent."""
        if number > MAX_ELEMENTS:
            raise BudgetSpent(f"a list of {number:,} elements is too long; scripts make {MAX_ELEMENTS:,} at most")
        self.made(number)


class PartOfBudget:
    """No more than any rendering has, and than there is left of the whole; what was used up of it is taken off that."""

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
    """The bytes that a character takes in a text: 1, 2 or 4, as its widest one needs."""
    if text.isascii():
        return 1
    return min(max((sys.getsizeof(text) - HEADER_BYTES) // (len(text) + 1), 1), 4)
