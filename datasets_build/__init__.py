"""Make the data: suites of prompts and, later, response sets with labels. The first folder of the flow.

In: released files of other projects (pinned and checked) and our own texts. Out: `Suite` and `Prompt` (`schema.py`).
"""
