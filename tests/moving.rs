//! A plain table becomes a partitioned one: same rows, same constraints, indexes, privileges and all else that its users
//! see, whatever happens meanwhile; or it stays exactly what it was.

mod carried;
mod case;
mod lost;
mod meanwhile;
mod random;
mod refused;
mod shapes;
