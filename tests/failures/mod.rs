//! Bad input, tried as a user would: what the program says, how it ends, and what it leaves in the
//! table. Each file is one kind of trouble.

mod asking;
mod changes;
mod few;
mod inputs;
mod locks;
mod options;
mod rows;
mod servers;
mod shapes;
mod stops;
mod tables;
mod terminal;
