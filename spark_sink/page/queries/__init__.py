"""Queries of the page, one module for each view: functions of a scope, which read no clock."""
