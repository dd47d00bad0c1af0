"""`fabcost demo`: a server, a catalogue of car adverts, and visitors who come by HTTP.

`run` is the command; it starts the process of `server` and sends it visitors.
"""
