"""Writes resources/completions/: what shells need to complete our commands, and the man page, for those who package the
program. `--check` writes nothing and fails when a file is not as the command line is now."""

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
    """Write the files, or compare them."""
    commands = list(walk(parser()))
    made = {FOLDER / NAMES[form]: make(commands) for form, make in FORMS.items()}
    if "--check" in sys.argv[1:]:
        old = [path.name for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
        if old:
            raise SystemExit(f"{', '.join(old)} are not current; run build/completions.py")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in made.items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
