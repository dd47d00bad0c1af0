"""The service over HTTP: one ASGI application, its routes and its OpenAPI document."""
