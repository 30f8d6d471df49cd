"""How long an identifier may be, and what it is, by its column: the same for whoever reads, keeps or describes one."""

from typing import Final

LONGEST: Final = {"external_id": 255, "email": 254, "phone": 64, "user_id": 255}
DESCRIPTIONS: Final = {
    "external_id": "The customer's id in your own system.",
    "email": "An e-mail address; kept in lower case.",
    "phone": "A phone number; kept as E.164 where it is an international one without an extension.",
}
