//! A team of threads for loops of microseconds, and the few patterns whose
//! results cannot depend on how many threads there are.
//!
//! A step of 1e5 grains has hundreds of parallel sections of 0.1–1 ms each,
//! most of them separated by nothing but a barrier. So the threads stay alive,
//! run one closure together ([`Team::run`]) and meet at barriers inside it
//! ([`Worker::wait_for_all`]): about a microsecond, where a general
//! work-stealing pool needs ten. Who waits longer than a few microseconds
//! sleeps, and [`ThreadChoice`] finds out how many threads pay: none but the
//! caller's for little work, fewer on a busy machine.
//!
//! What keeps results the same for every thread count:
//!
//! * [`Team::fill`] and [`Team::for_each_part`] write every element from its
//!   index alone;
//! * [`Team::select`] keeps the order of what it selects;
//! * [`Team::fold`] sums over chunks of a fixed length and adds the chunks'
//!   sums in order, so that rounding is the same too;
//! * an [`ExactSum`] is the same in any order of its terms, and with that also for
//!   any order in which they are stored; so is whatever [`Team::reduce`] gives;
//! * [`Team::sort_by`] is given an order in which no two elements are equal;
//! * [`SparseCells`] numbers the cells of space that things are in by where they are.
//!
//! This crate holds `unsafe` code: a closure is lent to other threads for the
//! duration of one call, [`SharedSlice`] lets threads write to disjoint parts
//! of one slice, and [`HugePages`] is an allocator. The invariants stand beside
//! each use.

mod exact_sum;
mod huge_pages;
mod prefetch;
mod reduce;
mod shared_slice;
mod signal;
mod sort;
mod sparse_cells;
mod team;
mod thread_choice;

pub use exact_sum::ExactSum;
pub use huge_pages::HugePages;
pub use prefetch::{prefetch, prefetch_address};
pub use reduce::{Max, Min, Reduce};
pub use shared_slice::SharedSlice;
pub use sparse_cells::{CellKey, FARTHEST_CELL, SparseCells, cell_coordinate};
pub use team::{Team, Worker, clear_and_reserve, reserve_slack, resize};
pub use thread_choice::ThreadChoice;
