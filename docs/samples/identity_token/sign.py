"""An identity token for whoever is logged in. Needs PyJWT. Prints one for the external_id that it is given."""

import os
import sys
import time

import jwt


def identity_token(external_id: str, *, app: str, kid: str, secret: str, **more: object) -> str:
    """`more` may be email, phone, and attributes: the names of those that the page may write."""
    claims = {"sub": external_id, "aud": app, "exp": int(time.time()) + 3600, **more}
    return jwt.encode(claims, secret, algorithm="HS256", headers={"kid": kid})


if __name__ == "__main__":
    print(
        identity_token(
            sys.argv[1],
            app=os.environ["ENGAGE_APP"],
            kid=os.environ["IDENTITY_KID"],
            secret=os.environ["IDENTITY_SECRET"],
            email="ada@example.com",
            attributes=["plan"],
        )
    )
