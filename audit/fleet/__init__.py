"""Many files: which are meant, what came of each, and what git says changed; no layout."""
