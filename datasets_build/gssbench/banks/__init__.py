"""The word banks of the prompt pairs, all our own: Python data and nothing else, made to be read."""
