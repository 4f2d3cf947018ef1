"""One module for each family of commands: `add` adds their options and functions to the parser."""
