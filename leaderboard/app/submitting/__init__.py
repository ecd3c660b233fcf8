"""Validate untrusted uploads and add them to the submission queue; independent of Gradio."""
