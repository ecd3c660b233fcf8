"""The papers' tables, recomputed from released data, with our value beside each published number."""
