"""Exported models: on devices and behind a server."""
