"""How long an identifier may be, by its column. The same rule for whoever reads, keeps or describes one."""

from typing import Final

LONGEST: Final = {"external_id": 255, "email": 254, "phone": 64, "user_id": 255}
