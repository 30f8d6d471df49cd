"""The identifiers' spellings, maximum lengths and descriptions by column, for calls, seed files and the admin.

Conditions take more spellings (conditions/fields.py).
"""

from typing import Final

# In the API and in files; in the order in which a server's call trusts them.
SPELLINGS: Final = {"external_id": "external_id", "email": "email", "phone": "phone", "user_id": "userId"}
LONGEST: Final = {"external_id": 255, "email": 254, "phone": 64, "user_id": 255}
DESCRIPTIONS: Final = {
    "external_id": "The customer's id in your own system.",
    "email": "The customer's e-mail address. Stored in lower case.",
    "phone": "The customer's phone number. Stored as E.164 if it is an international number without an extension.",
}
