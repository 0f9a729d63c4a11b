"""Folders of runs to one study; :func:`~bringing_in.bring_in` is the way in."""
