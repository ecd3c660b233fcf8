"""Integrations with other libraries; each module imports the library that it integrates with."""
