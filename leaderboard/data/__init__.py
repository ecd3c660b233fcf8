"""Reads result folders and stores into boards (tables of comparable numbers) and their per-prompt scores."""
