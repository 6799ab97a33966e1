//! The program as people and scripts meet it: output, exit codes, files.

mod asking;
mod flash;
mod hostile;
mod looking;
mod merging;
mod program;
mod repairing;
mod verifying;
