"""What redacts for one memory: the built-in rules and the user's, with the memory's own key.

The marks' hex and the files' fingerprints would otherwise be plain hashes of what may be a short password
beside text that is known: whoever gets hold of the database alone could try passwords until one fits.
"""

from __future__ import annotations

import re
from fnmatch import translate

from indexer.config import Config
from indexer.keyfile import secret
from indexer.redact import Redactor
from indexer.redaction_settings import Settings, compiled_pattern
from indexer.store.keyed import check_key


def redactor(config: Config) -> Redactor:
    """What redacts for this home folder, by the built-in rules and the user's. Makes the key if there is
    none: the caller holds the writer lock. Raises IndexerError, and makes none, where the memory hangs on
    one that is missing."""
    check_key(config.home)
    allow = tuple(map(compiled_pattern, config.redact_allow))
    files = tuple(re.compile(f"(?is:(?:.*/)?(?:{translate(glob)}))") for glob in config.redact_secret_files)
    return Redactor(secret(config.home), Settings(config.redact_rules, allow, files))
