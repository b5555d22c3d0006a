"""What is changed in generated requests before they are sent."""

import uuid

import schemathesis

KEY = "Idempotency-Key"


@schemathesis.hook
def map_headers(context, headers):
    # Short keys come up again. The second request is then answered like the first,
    # whose post another case may have deleted.
    key = (headers or {}).get(KEY)
    if isinstance(key, str) and 0 < len(key) <= 255 and all("!" <= it <= "~" for it in key):
        return {**headers, KEY: uuid.uuid4().hex}
    return headers


@schemathesis.hook
def filter_query(context, query):
    # A parameter without a value is null, and so as if it were absent. No schema can say so.
    return not (isinstance(query, dict) and "" in query.values())
