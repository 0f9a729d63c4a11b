"""The command line: one file per command, and how findings are printed."""
