"""Commands that change a lakehouse that runs: replay, erase, expire, maintain."""
