"""Logs read from files: impressions to replay, decisions to evaluate, exports of a service.

All of them are read by `fabcost.features.tables`, by one rule and with every bad row named.
"""
