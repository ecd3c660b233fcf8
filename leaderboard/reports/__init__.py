"""Studies in; what terminal commands print, as tables and figures, out."""
