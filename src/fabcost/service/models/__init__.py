"""Models in memory, and all that callers can do with them: the event loop's side.

`registry` changes them; `decisions`, `views` and `transfers` are the other parts of a
`fabcost.service.service.Service`, which alone imports them.  A decision reads from
`decisions.Decider.begin_to_decide` to `model.Model.decide` and its `candidates`, of the `catalogue`
or not; what it decided goes to the writer.  `load` is where a start makes them.
"""
