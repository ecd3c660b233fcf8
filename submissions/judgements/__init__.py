"""People's votes on pairs of response sets in; each vote exactly once, in whole commits of a store, out."""
