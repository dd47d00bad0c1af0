"""What client and service share; neither knows the other.

`messages` are the bodies of the native API, `settings` those of a model, `errors` what can go
wrong, `checks` what types cannot check, `log` the files of logs, `commands` how errors are told.
"""
