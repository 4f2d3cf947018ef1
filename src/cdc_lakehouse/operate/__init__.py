"""Commands that change an existing lakehouse: replay, erase, expire, maintain."""
