//! Mistakes that users make: the message, the exit status, and the content of the table. Each file has one
//! kind of failure.

mod asking;
mod changes;
mod inputs;
mod locks;
mod options;
mod rows;
mod servers;
mod shapes;
mod small;
mod stops;
mod tables;
mod terminal;
