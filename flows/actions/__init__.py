"""The types of actions, one file each: what its properties are, where it may stand, and how it runs (flow format).

A new type is a new file here with a function of its name, found without being listed anywhere.
"""
