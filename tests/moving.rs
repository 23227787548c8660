//! Moves of plain tables: a table becomes partitioned with the same rows, constraints, indexes and privileges, or it does
//! not change at all.

mod adverse;
mod carried;
mod case;
mod compared;
mod definitions;
mod drained;
mod hostile;
mod lost;
mod meanwhile;
mod online;
mod planned;
mod published;
mod random;
mod referring;
mod refused;
mod resumed;
mod shapes;
mod voided;
mod writers;
