"""Metrics fitted to labels: in come scores and labels of sets, out come combinations and how good they are held out."""
