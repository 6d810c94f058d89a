//! Cost formulas of smooth and nonsmooth stepping.
