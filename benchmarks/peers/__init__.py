"""The same training steps as others would write them; each module has a `make`."""
