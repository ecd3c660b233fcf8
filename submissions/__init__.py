"""Take outputs in: what a submission is, reading it safely, checking it, importing it from other formats.

In: untrusted files and a `Suite`. Out: a folder `manifest.json + generations.parquet (+ reported.parquet)`, checked.
"""
