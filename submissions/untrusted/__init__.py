"""Read untrusted files within limits: return plain values, and list problems by row and field."""
