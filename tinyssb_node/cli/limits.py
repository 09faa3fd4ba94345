"""Numbers of what people see in a terminal, each with its reason. What formats say is in ``tinyssb_node.limits``."""

from typing import Final

# --- Texts and names of strangers (safetext, people) ------------------------------------------------------------------

SAFETEXT_MARKS_MAX: Final = 4
"""Marks on one letter that are shown: Hebrew and Tibetan need three or four, piles of marks need a hundred."""
NAME_MAX: Final = 256
"""Characters of a name in which another one is looked for that reads alike."""
NAME_CELLS: Final = 20
"""Cells of a name in a line: a quarter of a narrow terminal."""
NAMES_TOLD_MAX: Final = 5
"""People named where several may be meant."""
