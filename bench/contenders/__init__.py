"""One module for each way of keeping the same table; bench/README.md has the interface."""
