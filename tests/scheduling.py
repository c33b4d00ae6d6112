"""How tests are distributed over the processes of a run."""

from typing import Any

from xdist.scheduler import LoadFileScheduling


class FileByFile(LoadFileScheduling):
    """Runs the tests of a file in one process, so that shared fixtures are created once; files in order, which ends
    with hundreds of small ones."""

    def __init__(self, config: Any, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def remove_node(self, node: Any) -> str | None:
        """Distributes the tests of a process that has ended, and reports the test that killed it.

        The library would schedule that test again, which kills the next process, and finished files with it, for whose
        results it then waits forever."""
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
