//! A page that shows recordings and running simulations, and the server that feeds it.
//!
//! [`Server`] listens on this machine, serves the page (embedded in the program: nothing is built or
//! fetched) and answers its requests: what there is to see, frames as bytes that go to the graphics
//! card as they are, time series, the state of one grain. What is shown is a [`Source`]: a
//! [`RecordedRun`], finished or still being written, or a [`LiveRun`], which steps a simulation in a
//! thread of its own and can be paused, stepped and stopped.
//!
//! Colours, views, ranges and surfaces are those of `esker render`: they come from the same
//! functions, and the numbers of its light go into the shaders of the page.
//!
//! ```no_run
//! use esker_view::{Options, RecordedRun, Server, Source};
//!
//! let run = RecordedRun::open("out/drum".as_ref())?;
//! let server = Server::bind(Source::Recorded(run), Options::default())?;
//! println!("{}", server.address());
//! server.serve(|| false)?;
//! # Ok::<(), esker_view::ViewError>(())
//! ```
//!
//! # Who may look
//!
//! The address holds a random token, without which nothing is answered; requests that name another
//! host, or that another site's page makes, are refused. No request names a file: the page is
//! part of the program, and frames are named by their step. See [`Options`] for who can reach it.

mod about;
mod answers;
mod error;
mod frame_bytes;
mod guard;
mod history;
mod live;
mod page;
mod query;
mod recorded;
mod series;
mod server;
mod source;
mod surfaces;

pub use error::ViewError;
pub use live::{LiveRun, LiveState};
pub use recorded::RecordedRun;
pub use server::{Options, Server};
pub use source::Source;
