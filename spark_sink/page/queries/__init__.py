"""What the page asks the database, one module a view: functions of a scope, which read no clock."""
