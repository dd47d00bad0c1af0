"""The routes of the native API; the docstring of each is its text in the OpenAPI document."""
