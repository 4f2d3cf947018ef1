"""What mkdocs.yml asks for the site: the pages are files of the repository, at their places.

So a link from one page to another is the same in the repository and on the site.
"""

import posixpath
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from cdc_lakehouse.console.commands.pages import by_task, text_of

ROOT = Path(__file__).parent.parent
# Beside the pages that the navigation names.
MORE = ("docs/decisions/*.md", "docs/images/*.png", "docs/images/*.svg")
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:\s]+)\)")


def on_config(config: MkDocsConfig) -> None:
    """Give the site its navigation: a section for each task."""
    config.nav = [{task.capitalize(): _entries(paths)} for task, paths in by_task().items()]


def _entries(paths: list[str]) -> list[Any]:
    return [
        {"Each format": [{PurePosixPath(each).parent.name: each} for each in _found(path)]}
        if "*" in path
        else path
        for path in paths
    ]


def _found(pattern: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of the theme, and the pages and pictures of the repository."""
    patterns = [*MORE, *(path for paths in by_task().values() for path in paths)]
    ours = dict.fromkeys(path for pattern in patterns for path in _found(pattern))
    kept = [file for file in files if file.src_dir != config.docs_dir]
    added = [File(path, str(ROOT), config.site_dir, use_directory_urls=False) for path in ours]
    return Files([*kept, *added])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page as Markdown of the site.

    What it links to in the repository, but not on the site, is named without a link.
    """
    folder = posixpath.dirname(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[2]))
        leaves = files.get_file_from_path(target) is None and (ROOT / target).exists()
        return found[1] if leaves else found[0]

    text = with_room_for_lists(LINK.sub(link, text_of(markdown)))
    return text if text.startswith("# ") else f"# {page.title}\n\n{text}"


def with_room_for_lists(text: str) -> str:
    """Return a text with an empty line before each list, without which it is none to mkdocs."""
    lines: list[str] = []
    is_code = False
    for line in text.splitlines():
        before = lines[-1] if lines else ""
        if line.startswith("- ") and not is_code and re.match(r"[^\s-]|-[^ ]", before):
            lines.append("")
        lines.append(line)
        is_code ^= line.startswith("```")
    return "\n".join(lines)
