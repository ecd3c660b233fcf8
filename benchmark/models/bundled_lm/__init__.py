"""The language model that comes with the package, and how it was made: corpus.py, documents.py, train.py."""
