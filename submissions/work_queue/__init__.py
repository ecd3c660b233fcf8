"""Submissions in; claims for workers, and states with their histories, out."""
