"""Erase data subjects from all tables and from disk."""

from cdc_lakehouse.operate.erase.erasure import erase
from cdc_lakehouse.operate.erase.keys import read_key, read_keys

__all__ = ["erase", "read_key", "read_keys"]
