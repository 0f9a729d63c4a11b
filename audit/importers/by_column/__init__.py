"""Large tables of outcomes, counted by column and in batches instead of row by row.

The reader of rows (:mod:`audit.importers.long_table`) stays what decides: it names the columns,
reads every label and every distinct value, and builds the runs. What lies here only counts how
often each value stands beside each task of each run, and hands a table over to the reader of rows
as soon as anything in it is not plain (:class:`~audit.importers.by_column.plain.NotPlain`).
"""
