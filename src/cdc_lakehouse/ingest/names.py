"""The names under which the topics of an archive land."""

import json
import re
from dataclasses import dataclass
from itertools import chain

from cdc_lakehouse.errors import LakehouseError


@dataclass(frozen=True)
class Names:
    """New names of topics: pairs of an old and a new one, in which `*` is any text."""

    pairs: tuple[tuple[str, str], ...] = ()

    def of(self, topic: str) -> str:
        """Return the name under which a topic lands: its own, if no pair covers it.

        As of routes, the exact name counts first, then the one with the most literal characters.
        """
        for old, new in sorted(self.pairs, key=_precedence):
            if found := re.fullmatch(_pattern(old), topic, re.DOTALL):
                literals = new.split("*")
                texts = [*found.groups(), ""] if len(literals) > 1 else [""]
                return "".join(chain.from_iterable(zip(literals, texts, strict=True)))
        return topic

    @property
    def text(self) -> str | None:
        """The names as bronze.landed_files keeps them; None if there are none."""
        return json.dumps(sorted(self.pairs)) if self.pairs else None

    @classmethod
    def kept(cls, text: str | None) -> "Names":
        """Return the names that `text` is kept of."""
        return cls(tuple((old, new) for old, new in json.loads(text or "[]")))

    @classmethod
    def parse(cls, texts: list[str]) -> "Names":
        """Return the names of OLD=NEW texts.

        Raises:
            LakehouseError: a text that is none, or two that say different things of one topic.
        """
        names: dict[str, str] = {}
        for text in texts:
            old, _, new = text.partition("=")
            if not (old and new):
                raise LakehouseError(
                    f"--topic {text!r} names no two topics. Write OLD=NEW: the topic as the "
                    "archive names it, and the name under which it is to land."
                )
            if new.count("*") not in (0, old.count("*")):
                raise LakehouseError(
                    f"--topic {text!r} has {old.count('*')} * in the old name and "
                    f"{new.count('*')} in the new one. Each * of the new name takes the text of "
                    "the one in its place: write as many, or none."
                )
            if names.setdefault(old, new) != new:
                raise LakehouseError(f"--topic gives {old!r} two names: {names[old]!r}, {new!r}.")
        return cls(tuple(sorted(names.items())))


def _precedence(pair: tuple[str, str]) -> tuple[bool, int, str]:
    old, _ = pair
    return "*" in old, -len(old.replace("*", "")), old


def _pattern(old: str) -> str:
    return "(.*)".join(map(re.escape, old.split("*")))


NO_NAMES = Names()
