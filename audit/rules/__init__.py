"""The catalogue of rules, one file per family."""
