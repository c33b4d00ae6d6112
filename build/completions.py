"""Generates resources/completions/, the shell completions and the man page, for packagers. `--check` writes nothing and
fails if a file is out of date."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from server.cli.commands import parser  # noqa: E402
from server.cli.completion import FORMS, walk  # noqa: E402

FOLDER = ROOT / "resources" / "completions"
NAMES = {
    "bash": "helpdesk.bash", "zsh": "_helpdesk", "fish": "helpdesk.fish", "powershell": "helpdesk.ps1",
    "man": "helpdesk.1",
}  # fmt: skip


def main() -> None:
    """Writes the files, or with --check only compares them."""
    commands = list(walk(parser()))
    texts = {FOLDER / NAMES[form]: make(commands) for form, make in FORMS.items()}
    if "--check" in sys.argv[1:]:
        stale = [path.name for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text]
        if stale:
            raise SystemExit(f"out of date: {', '.join(stale)}; run build/completions.py")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
