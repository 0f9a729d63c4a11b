"""Train arms x seeds with TRL and write results files worth auditing (extra ``train``).

Nothing else in the package imports this one, and nothing here loads torch or TRL before it is
used: reading a study file or a dry listing of its runs costs no heavy import.
"""
