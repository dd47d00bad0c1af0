"""The HTTP API of a service, over ASGI; only `fabcost.service.server` imports it.

`routes` declares what is answered and `routing` how: `app` finds the endpoint of a request, lets
it in, and turns answers and errors into responses.  Decisions that are small take `fastpath`
instead, to the same endpoints.  Start with `app`.
"""
