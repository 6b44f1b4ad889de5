"""The agent: runs that ask a model, make its calls, stop for a person and go on, also after a crash.

What a run did is rows (`records.runs`); what is here decides what comes next, and does it.
"""
