"""Evaluation of policies on a log that another policy wrote: ``fabcost evaluate``."""
