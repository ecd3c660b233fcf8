"""Hooks into other libraries; each module imports its library."""
