"""The one door for writes: protocol, journal, recovery, spool, undo."""
