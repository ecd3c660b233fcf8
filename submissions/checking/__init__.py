"""A submission folder in; an opened submission, or all of its problems, out."""
