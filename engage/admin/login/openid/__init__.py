"""Staff log in with an OpenID Connect provider; used only where OIDC_ISSUER is set (docs/access.md tells it).

1. `pages` (at `urls`) send the browser to the provider with a state, a nonce and a PKCE challenge, which its session
   keeps, and take it back with a code.
2. `provider` gives the code for an ID token, and believes it only if the provider signed it for this service and in
   answer to this login.
3. `accounts` find or make the account that is the person's alone, and let it have exactly what the groups say.
"""

PREFIX = "openid:"  # of the names of accounts; Django's forms and commands take no colon in a name
