//! Where to connect to: conninfo strings, `PG*` variables, service and password files.
