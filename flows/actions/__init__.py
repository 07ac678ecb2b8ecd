"""The types of actions, one file each: its properties, the flow types that may use it, and how it runs (flow format). A
new type is a new file here with a function of the same name; it need not be listed anywhere.
"""
