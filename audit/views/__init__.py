"""Where statistics become words: one view of a comparison, a claim, a run and a finding.

Terminal, gate, JSON, Markdown, page and figures lay these views out; none of them words a fact
again. Numbers are written by :mod:`audit.numerals`, reasons are worded by :mod:`audit.reasons`.
Texts are as the data has them: each surface makes them safe for its own medium. Neither Jinja2
nor Matplotlib is needed here.
"""
