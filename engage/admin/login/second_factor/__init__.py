"""The second factor of staff: a code of an app on their phone beside the password, and codes for when that is lost.

`requirement` says who needs one, and its middleware keeps every other page of the admin from whoever owes one; `pages`
ask for a code and set a phone up; `stored` is what is kept of it, with which a copy of the database shows none.
"""
