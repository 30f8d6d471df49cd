"""One definition for each call of the API. In the order of a call's life:

1. `call`: what a call is; `asked`, what its function is given.
2. `queries`: query strings as typed objects. Bodies are read by engage/json/reading.py.
3. `views`: the views that are made of calls, and how their answers are written.
4. `document`: calls in the OpenAPI document; schema/: the parts of it that all share.
5. access/: the calls about access itself.
"""
