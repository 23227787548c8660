"""The lab: published experiments on loading partitioned PostgreSQL, run again on your server.

The flow: `experiment` (what is asked, read from TOML) -> `stage` (tables and inputs made ready) ->
`measure` (one load by one engine) -> `record` (a line for each load) -> `report` (one page).
`session` runs it in rounds, `site` is the server that it runs on. `report` reads records only.
"""
