"""What a document says: each fact derived once, with its pointers; no verdicts, no words."""
