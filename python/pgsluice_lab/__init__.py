"""The lab: published experiments on loading partitioned PostgreSQL, repeated on your server.

The flow: `experiment` (the question, read from TOML) -> `stage` (prepares tables and inputs) ->
`measure` (one load by one engine) -> `record` (a line for each load) -> `report` (one page).
`session` runs it in rounds, and `site` is the server. `report` reads only records.
"""
