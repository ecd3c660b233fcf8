"""Draw figures as plotly objects and HTML, with all untrusted text escaped.

The functions are pure; plotly figures raise `MissingExtra` if plotly is not installed.
"""
