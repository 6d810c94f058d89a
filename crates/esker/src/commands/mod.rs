//! The commands of `esker`, one file each.

pub mod bench;
pub mod check;
pub mod experiment;
pub mod export;
pub mod info;
pub mod init;
pub mod measure;
pub mod plan;
pub mod render;
pub mod report;
pub mod run;
pub mod solve;
