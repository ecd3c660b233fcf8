"""Judges which responses answer their prompt, and why the others do not."""
