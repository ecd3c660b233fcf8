"""Untrusted uploads in; validated submissions in the queue out. Without Gradio."""
