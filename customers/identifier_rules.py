"""The identifiers' spellings, maximum lengths and descriptions by column, shared by all code."""

from typing import Final

# In the API and in files; in the order in which a server's call trusts them.
SPELLINGS: Final = {"external_id": "external_id", "email": "email", "phone": "phone", "user_id": "userId"}
LONGEST: Final = {"external_id": 255, "email": 254, "phone": 64, "user_id": 255}
DESCRIPTIONS: Final = {
    "external_id": "The customer's id in your own system.",
    "email": "An e-mail address; kept in lower case.",
    "phone": "A phone number; kept as E.164 where it is an international one without an extension.",
}
