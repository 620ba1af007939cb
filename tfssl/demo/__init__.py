"""A page that runs a trained model in the browser, and what serves it."""
