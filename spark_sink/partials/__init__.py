"""Pure transforms of records: Arrow tables in, Arrow tables out that can be merged in any order."""
