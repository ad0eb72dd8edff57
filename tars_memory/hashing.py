"""SHA-256 and BLAKE2b as Python itself has them.

``hashlib`` takes SHA-256 from OpenSSL, whose library costs each start 2 ms and 4 MB; for short texts it is no slower
without, and BLAKE2b is Python's own in any case. The standard library's ``random`` imports its hash the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b, sha256
else:
    try:
        from _blake2 import blake2b

        try:
            from _sha2 import sha256
        except ImportError:  # Python 3.11
            from _sha256 import sha256
    except ImportError:  # an interpreter that was built without them
        from hashlib import blake2b, sha256

__all__ = ["blake2b", "sha256"]
