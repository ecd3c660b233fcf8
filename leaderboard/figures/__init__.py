"""Figures from tables and curves: pure, and safe against the texts of strangers."""
