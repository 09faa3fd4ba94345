"""Brings all catalogues up to date with the messages in the code: ``make languages``, or one more: ``ARGS=it``."""

import sys

from tests.languages.extraction import DOMAINS, update
from tinyssb_node.screens.languages import LANGUAGES

for language in sorted({*LANGUAGES, *sys.argv[1:]}):
    for domain in DOMAINS:
        update(language, domain)
