"""Files that are whole or not there, locks, digests, and archives read as data.

Imports errors alone.
"""
