"""Change the text files of a project, or only show the changes as a diff."""

from difflib import unified_diff
from pathlib import Path


class ProjectFiles:
    """The files that a command reads and writes; it remembers their earlier texts."""

    def __init__(self, project_dir: Path, is_dry: bool = False):
        """Begin with the files as they are.

        Args:
            is_dry: whether texts are only remembered, and nothing is written.
        """
        self.project_dir = project_dir
        self._is_dry = is_dry
        self._before: dict[Path, str | None] = {}
        self._now: dict[Path, str] = {}

    def text(self, path: Path) -> str | None:
        """Return the text of a file; None if there is no such file."""
        if path in self._now:
            return self._now[path]
        return path.read_text(encoding="utf-8") if path.exists() else None

    def write(self, path: Path, text: str, is_new: bool = False) -> None:
        """Give a file another text.

        Args:
            is_new: whether the file must not be there yet.
        """
        self._before.setdefault(path, self.text(path))
        if not self._is_dry:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "x" if is_new else "w", encoding="utf-8") as file:
                file.write(text)
        self._now[path] = text

    @property
    def changed(self) -> list[str]:
        """The files with another text than before, from the project's folder."""
        paths = (path for path, text in self._now.items() if text != self._before[path])
        return sorted(str(path.relative_to(self.project_dir)) for path in paths)

    def diff(self) -> str:
        """Return what has changed as one unified diff, which `git apply` takes."""
        lines: list[str] = []
        for name in self.changed:
            path = self.project_dir / name
            before = self._before[path]
            old = "/dev/null" if before is None else f"a/{name}"
            texts = ((before or "").splitlines(True), self._now[path].splitlines(True))
            for line in unified_diff(*texts, old, f"b/{name}"):
                is_whole = line.endswith("\n")
                lines.append(line if is_whole else f"{line}\n\\ No newline at end of file\n")
        return "".join(lines)
