"""Draw figures as plotly objects and HTML, with all untrusted text escaped.

The functions are pure. Those named `*_figure` and `*_map` return a `plotly.graph_objects.Figure` and raise
`MissingExtra` if plotly is not installed.
"""
