//! The commands of `esker`, one file each.

pub mod bench;
pub mod check;
pub mod experiment;
pub mod export;
pub mod import;
pub mod info;
pub mod init;
pub mod measure;
pub mod plan;
pub mod render;
pub mod report;
pub mod run;
pub mod solve;
pub mod view;

use glam::DVec3;

/// A point on the command line.
fn parse_point(text: &str) -> Result<DVec3, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|x| x.trim().parse()).collect();
    match numbers.as_deref() {
        Ok(&[x, y, z]) => Ok(DVec3::new(x, y, z)),
        _ => Err("three numbers are wanted, such as 0,0,0.5".into()),
    }
}
