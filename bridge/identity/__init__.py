"""Whether people are who the page says: signed tokens from the app's own server.

1. An app has up to three keys, each with its `kid`, one algorithm and an end (keyring.py). They come with the app,
   and are read once for as long as it is remembered.
2. A token is verified by PyJWT with the algorithm of its key alone (tokens.py), and remembered, since a page sends the
   same one again and again.
3. proof.py is what a bridge call asks. With an app whose identity is `off`, that is one comparison. Every identifier of
   the call must be covered by the token. A person who has only a `userId` needs none, if the app allows it; then the
   call must not lead to somebody who has other identifiers, which interactions/recording.py checks.
4. Staff see how many calls of seven days would have been refused, why, and from which pages (figures.py), and then
   switch the app to refuse them (enforcing.py). problems.py: why a call is not proven.
"""
