//! The embedded PostgreSQL: the default target when no other is given.
