"""A snapshot of the board in; the Gradio application out."""
