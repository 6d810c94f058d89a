//! The commands of `esker`, one file each.
