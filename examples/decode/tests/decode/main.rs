//! The program as people and scripts meet it, with a tiny model of random numbers.

mod asking;
mod making;
mod program;
