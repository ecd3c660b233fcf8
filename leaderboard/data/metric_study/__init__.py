"""Labelled sets and metric scores in; a record of how far metrics agree with people, labels and each other out."""
