"""Copy templates into the project of a person, with names that the person chose."""

from collections.abc import Callable
from pathlib import Path

from cdc_lakehouse.errors import LakehouseError


def copy_template(
    template: Path,
    folder: Path,
    words: dict[str, str],
    is_wanted: Callable[[Path], bool] = lambda path: True,
) -> list[Path]:
    """Copy the files below `template` into `folder`, each word replaced in paths and in texts.

    Args:
        is_wanted: tells of a file of the template whether it is copied.

    Returns:
        The files that were written, relative to `folder`.

    Raises:
        LakehouseError: a file is there already, which is found before any is written, or one
            cannot be written.
    """
    sources = sorted(path for path in template.rglob("*") if path.is_file() and is_wanted(path))
    copies = {Path(_replaced(str(each.relative_to(template)), words)): each for each in sources}
    for path in copies:
        if (folder / path).exists():
            raise LakehouseError(f"{folder / path} is there already. Nothing was written.")
    for path, source in copies.items():
        target = folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_replaced(source.read_text(), words))
        except OSError as error:
            raise not_written(target, error) from None
    return list(copies)


def not_written(path: Path, error: OSError) -> LakehouseError:
    """Return the error of a file of a project that cannot be written: why, and what to do."""
    return LakehouseError(
        f"{path} cannot be written: {error.strerror}. Make its folder writable, or choose another."
    )


def _replaced(text: str, words: dict[str, str]) -> str:
    for word, replacement in words.items():
        text = text.replace(word, replacement)
    return text
