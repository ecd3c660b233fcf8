"""`divbench explain`: in comes one response set, out goes how surprising each response is given the others."""
