"""Tables and curves in; plotly figures out, in which untrusted text is inert. Pure; without plotly, `MissingExtra`."""
