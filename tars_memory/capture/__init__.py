"""Capture: what the person or a program says, written down without judgement."""
