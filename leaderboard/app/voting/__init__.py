"""Visitors' votes on pairs of response sets."""
