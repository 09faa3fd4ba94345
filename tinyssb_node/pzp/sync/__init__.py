"""Two replicas of PZP messages become alike as far as each wants (docs/formats/pzp-sync.md): bytes in, bytes out.

Needs the extra ``pzp``.
"""
