"""Files that are whole or not there, locks, and archives read as data.

Imports errors alone.
"""
