"""What is wrong with the shape of an object: published schemas, forms, and the walk along them.

A *form* is what the API server or a webhook demands beyond a published schema; it is put into the schema,
and names the rule that a finding belongs to.
"""
