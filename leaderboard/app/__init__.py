"""Live results in; the Gradio application out."""
