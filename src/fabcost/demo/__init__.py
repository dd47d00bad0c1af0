"""`fabcost demo`: a server, a catalogue of car adverts, and visitors who come by HTTP."""
