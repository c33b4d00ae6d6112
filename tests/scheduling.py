"""How the tests are given to the processes of a run."""

from typing import Any

from xdist.scheduler import LoadFileScheduling


class FileByFile(LoadFileScheduling):
    """The tests of a file run in one process, so that what they share is made once and not in each; files in their
    order, which ends with hundreds of small ones."""

    def __init__(self, config: Any, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def remove_node(self, node: Any) -> str | None:
        """A process has ended; its tests go to the others, and the one that killed it is answered.

        The library gives out that test once more, which kills the next one, and with it files that are done, of which
        it hears nothing and waits forever."""
        files = self.assigned_work[node]
        left = {file: [test for test, is_done in tests.items() if not is_done] for file, tests in files.items()}
        crashed = next((test for tests in left.values() for test in tests), None)
        for file, tests in left.items():
            wanted = dict.fromkeys((test for test in tests if test != crashed), False)
            if wanted:
                self.workqueue[file] = wanted
        self.assigned_work[node] = {}
        super().remove_node(node)
        for other in self.nodes:
            self._reschedule(other)
        return crashed
