"""Check a submission folder: return the opened submission, or list all of its problems."""
