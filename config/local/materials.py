"""`python -m config.local.materials LOCK VERSION COMMIT`: the bill of materials of a release, as CycloneDX 1.5 JSON."""

import json
import re
import sys
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from config.local.licences import UNKNOWN, licences


def bill_of_materials(lock: str, *, version: str, commit: str) -> dict[str, Any]:
    """Every package that the lock's text names, also those for other machines. The same input gives the same bill."""
    known = {one.name: one.licence for one in licences(lock) if one.licence != UNKNOWN}
    engage = f"pkg:pypi/engage@{version}"
    parts = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{of_version}",
            "name": name,
            "version": of_version,
            "purl": f"pkg:pypi/{name}@{of_version}",
            **({"licenses": [{"license": {"name": known[name]}}]} if name in known else {}),
        }
        for name, of_version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", lock, re.MULTILINE)
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, f'{engage}?commit={commit}')}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": engage, "name": "engage", "version": version, "purl": engage,
                "properties": [{"name": "commit", "value": commit}],
            }
        },
        "components": parts,
        "dependencies": [{"ref": engage, "dependsOn": [part["bom-ref"] for part in parts]}],
    }  # fmt: skip


if __name__ == "__main__":
    lock, version, commit = sys.argv[1:]
    print(json.dumps(bill_of_materials(Path(lock).read_text(), version=version, commit=commit), indent=1))  # noqa: T201
