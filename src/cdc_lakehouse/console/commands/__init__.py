"""One module for each family of commands: `add` tells the parser what it takes and what it runs."""
