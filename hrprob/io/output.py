"""Former home of the result folders' functions; new code imports them from where they are defined."""

from hrprob.io.json_files import write_json
from hrprob.io.manifest import MANIFEST, environment
from hrprob.io.staging import staged

__all__ = ["MANIFEST", "environment", "staged", "write_json"]
