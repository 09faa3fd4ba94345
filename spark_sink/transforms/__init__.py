"""Pure transforms: each takes records of the ``tinyssb`` source and begins and ends in a select, its contract."""
