"""Prompts and responses in; which responses are answers, and why the others are none, out."""
