"""Every number of who may come in at a listening face, each with its reason. Others are in ``tinyssb_node.limits``."""

from typing import Final

TOKEN_MIN: Final = 16
"""Fewest characters of a token: 64 bits if they are hexadecimal digits."""
TOKEN_MAX: Final = 256
"""Bytes of a file with a token that are read: a longer one is some other file."""
CERTIFICATE_MAX: Final = 65_536
"""Bytes of a file with certificates that are read for a fingerprint: a chain of four has 8 kB."""
