"""What goes out of a results file into other tools' formats, with its verdicts."""
