"""Files from outside in; plain values within limits, and problems named by row and field, out."""
