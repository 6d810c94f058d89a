//! The server: one address, a few questions, no files.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::answers::{self, Answer};
use crate::guard::{Asking, Guard};
use crate::page;
use crate::query::Query;
use crate::{Source, ViewError};

/// Connections at a time: a browser opens six.
const MOST_CONNECTIONS: usize = 64;
/// Bytes that the head of a request may have.
const LARGEST_HEAD: usize = 16 << 10;
/// Time in which the head of a request must have come.
const HEAD_TIME: Duration = Duration::from_secs(20);
/// How often it is asked whether to stop.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// How long answers on their way may take at the end.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Where a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Address; this machine alone, unless told otherwise. Whoever can reach it and knows the token
    /// can look, and pause or stop a live run.
    pub bind: IpAddr,
    /// Port; 0 takes one that is free.
    pub port: u16,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
        }
    }
}

/// A server that listens, and is about to answer.
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    guard: Guard,
    source: Source,
}

impl Server {
    /// Begins to listen.
    pub fn bind(source: Source, options: Options) -> Result<Self, ViewError> {
        let wanted = SocketAddr::new(options.bind, options.port);
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ViewError::PortInUse { address: wanted },
            _ => ViewError::Listen {
                address: wanted,
                source,
            },
        };
        let listener = std::net::TcpListener::bind(wanted).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let guard = Guard::new(address)
            .map_err(|error| ViewError::Start(io::Error::other(error.to_string())))?;
        Ok(Server {
            listener,
            address,
            shared: Arc::new(Shared { guard, source }),
        })
    }

    /// The address of the page, with its token.
    pub fn address(&self) -> String {
        let host = match self.address.ip() {
            ip if ip.is_unspecified() => {
                SocketAddr::new(Ipv4Addr::LOCALHOST.into(), self.address.port())
            }
            ip => SocketAddr::new(ip, self.address.port()),
        };
        format!("http://{host}/{}/", self.shared.guard.token())
    }

    /// What is shown.
    pub fn source(&self) -> &Source {
        &self.shared.source
    }

    /// Answers until `stop` says so, and returns what was shown, unless an answer still holds it.
    pub fn serve(self, stop: impl Fn() -> bool) -> Result<Option<Source>, ViewError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(ViewError::Start)?;
        let shared = Arc::clone(&self.shared);
        runtime.block_on(accept(self.listener, shared, stop))?;
        runtime.shutdown_timeout(LAST_ANSWERS);
        Ok(Arc::into_inner(self.shared).map(|shared| shared.source))
    }
}

async fn accept(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    stop: impl Fn() -> bool,
) -> Result<(), ViewError> {
    let listener = TcpListener::from_std(listener).map_err(ViewError::Start)?;
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    while !stop() {
        let Ok(accepted) = tokio::time::timeout(BETWEEN_LOOKS, listener.accept()).await else {
            continue;
        };
        let Ok((stream, _)) = accepted else {
            // One that failed before it began, or no more files: others may come later.
            tokio::time::sleep(BETWEEN_LOOKS).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(|request| respond(Arc::clone(&shared), request));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .max_buf_size(LARGEST_HEAD)
                .serve_connection(TokioIo::new(stream), service);
            // A browser that goes away in the middle of a frame is no fault of anybody.
            let _ = connection.await;
            drop(place);
        });
    }
    Ok(())
}

type Reply = Response<Full<Bytes>>;

async fn respond(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Reply, Infallible> {
    // Reading and encoding a frame takes milliseconds, which others need not wait for.
    let reply = tokio::task::spawn_blocking(move || reply(&shared, &request)).await;
    Ok(reply.unwrap_or_else(|_| problem(StatusCode::INTERNAL_SERVER_ERROR, "the answer failed")))
}

fn reply(shared: &Shared, request: &Request<impl Body>) -> Reply {
    let text = |name: HeaderName| request.headers().get(name).and_then(|v| v.to_str().ok());
    let asking = Asking {
        path: request.uri().path(),
        host: text(header::HOST),
        origin: text(header::ORIGIN),
        fetch_site: text(HeaderName::from_static("sec-fetch-site")),
    };
    let path = match shared.guard.admit(&asking) {
        Ok(path) => path,
        Err(refusal) => return problem(StatusCode::FORBIDDEN, refusal.message()),
    };
    if request.body().size_hint().lower() > 0 {
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "no question has a body");
    }
    if path.is_empty() && !request.uri().path().ends_with('/') {
        return to_the_page(shared.guard.token());
    }
    let query = Query::new(request.uri().query().unwrap_or(""));
    let answer = match (request.method(), path) {
        (&Method::POST, "control") => Some(answers::command(&shared.source, &query)),
        (&Method::GET, path) => {
            if let Some(file) = page::file(path) {
                return whole(
                    StatusCode::OK,
                    file.kind,
                    Bytes::from_static(file.text.as_bytes()),
                );
            }
            answers::ask(&shared.source, path, &query)
        }
        _ => return problem(StatusCode::METHOD_NOT_ALLOWED, "that cannot be done here"),
    };
    match answer {
        None => problem(StatusCode::NOT_FOUND, "there is nothing of that name"),
        Some(Ok(Answer::Json(value))) => json_reply(StatusCode::OK, value.to_string()),
        Some(Ok(Answer::Binary(bytes))) => {
            whole(StatusCode::OK, "application/octet-stream", bytes.into())
        }
        Some(Ok(Answer::Unchanged)) => whole(
            StatusCode::NO_CONTENT,
            "application/octet-stream",
            Bytes::new(),
        ),
        Some(Err(error)) => {
            let status = StatusCode::from_u16(error.status());
            let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            problem(status, &error.to_string())
        }
    }
}

/// Addresses within the page are relative to its own, which ends with a slash.
fn to_the_page(token: &str) -> Reply {
    let mut reply = whole(StatusCode::PERMANENT_REDIRECT, "text/plain", Bytes::new());
    if let Ok(place) = HeaderValue::from_str(&format!("/{token}/")) {
        reply.headers_mut().insert(header::LOCATION, place);
    }
    reply
}

fn problem(status: StatusCode, message: &str) -> Reply {
    json_reply(status, json!({ "error": message }).to_string())
}

fn json_reply(status: StatusCode, text: String) -> Reply {
    whole(status, "application/json", text.into())
}

/// What every answer says: nothing is kept, nothing of others is loaded, nobody may frame the page,
/// and the address with its token goes nowhere.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
];

fn whole(status: StatusCode, kind: &'static str, bytes: Bytes) -> Reply {
    let mut reply = Response::new(Full::new(bytes));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    reply
}
