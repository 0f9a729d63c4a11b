"""Many studies at once: judged in parallel, a row a claim, as text, Markdown, JSON or a page."""
