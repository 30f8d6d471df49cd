"""Reads every example of the document with the models that datamodel-code-generator made; prints how many there are."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import models

DOCUMENT = json.loads(Path("openapi.json").read_text())


def contents(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, list):
        for item in part:
            yield from contents(item)
    elif isinstance(part, dict):
        if "schema" in part and "examples" in part:
            yield part
        else:
            for inner in part.values():
                yield from contents(inner)


number = 0
for content in contents(DOCUMENT):
    model = getattr(models, content["schema"]["$ref"].rpartition("/")[2])
    for example in content["examples"].values():
        read = model.model_validate(example["value"])
        assert json.loads(read.model_dump_json(exclude_unset=True)).keys() == example["value"].keys()
        number += 1
sys.stdout.write(str(number))
