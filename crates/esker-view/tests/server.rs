//! The server as a browser meets it: through a real socket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use esker::record::Recording;
use esker::{LoadedScene, Simulation, Until};
use esker_view::{LiveRun, Options, RecordedRun, Server, Source, ViewError};

/// A column of beads and two dice beside it, recorded often and with contacts.
const SCENE: &str = r#"
    duration = 0.1
    step = 1e-3
    record = { every = 0.01, contacts = true, precision = "double" }
    material.glass = { density = 2500, young = 1e7, poisson = 0.3 }
    wall = [{ name = "floor", shape = "plane" }]
    [[grains]]
    place = "column"
    count = 5
    diameter = 0.01
    [[grains]]
    place = "column"
    base = [0.05, 0, 0.01]
    gap = 0.01
    count = 2
    shape = { box = [0.01, 0.012, 0.01] }
"#;

fn simulation(text: &str) -> Simulation {
    Simulation::new(LoadedScene::parse(text, "view", ".").expect("a right scene")).unwrap()
}

/// Records the scene up to a time.
fn record(folder: &Path, until: f64) -> Simulation {
    let mut simulation = simulation(SCENE);
    simulation.record_to(folder, false).unwrap();
    let go = |simulation: &mut Simulation| {
        simulation.run(
            Until::time(until),
            || false,
            |_, _| Ok::<(), esker::Error>(()),
        )
    };
    go(&mut simulation).unwrap();
    simulation
}

/// A server in a thread of its own, which ends with it.
struct Running {
    address: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Option<Source>>>,
}

impl Running {
    fn start(source: Source) -> Self {
        let server = Server::bind(source, Options::default()).unwrap();
        let address = server.address();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread =
            std::thread::spawn(move || server.serve(|| seen.load(Ordering::Relaxed)).unwrap());
        Running {
            address,
            stop,
            thread: Some(thread),
        }
    }

    fn host(&self) -> &str {
        self.address.split('/').nth(2).unwrap()
    }

    fn token(&self) -> &str {
        self.address.split('/').nth(3).unwrap()
    }

    /// Sends a request as it is and returns status and body.
    fn send(&self, request: &str) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&answer[..end]);
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer[end + 4..].to_vec())
    }

    fn ask(&self, method: &str, path: &str) -> (u16, Vec<u8>) {
        self.send(&format!(
            "{method} /{}/{path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.token(),
            self.host()
        ))
    }

    fn get(&self, path: &str) -> Vec<u8> {
        let (status, body) = self.ask("GET", path);
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        body
    }

    fn json(&self, path: &str) -> serde_json::Value {
        serde_json::from_slice(&self.get(path)).unwrap()
    }

    /// Asks until an answer pleases.
    fn wait(&self, path: &str, pleases: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let start = Instant::now();
        loop {
            let answer = self.json(path);
            if pleases(&answer) {
                return answer;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{answer}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn end(mut self) -> Option<Source> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Numbers of a frame's bytes, as `docs/src/view.md` lays them out.
struct Decoded<'a>(&'a [u8]);

impl Decoded<'_> {
    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    fn f32(&self, at: usize) -> f64 {
        f64::from(f32::from_le_bytes(self.0[at..at + 4].try_into().unwrap()))
    }

    fn f64(&self, at: usize) -> f64 {
        f64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
    }

    fn step(&self) -> u64 {
        u64::from_le_bytes(self.0[8..16].try_into().unwrap())
    }
}

#[test]
fn bytes_of_a_frame_decode_to_the_numbers_of_the_recording() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    record(&folder, 0.1).finish().unwrap();
    let recording = Recording::open(&folder.join("recording.h5")).unwrap();
    let running = Running::start(Source::Recorded(RecordedRun::open(&folder).unwrap()));
    let moments = running.json("moments");
    let steps = moments["step"].as_array().unwrap();
    assert_eq!(steps.len(), recording.frames().len());
    for index in [0, 4, steps.len() - 1] {
        let frame = recording.frame(index).unwrap();
        let picked = frame.id[6];
        let step = steps[index].as_u64().unwrap();
        let bytes = running.get(&format!(
            "frame?step={step}&color=speed&chains=1&picked={picked},99"
        ));
        let decoded = Decoded(&bytes);
        assert_eq!(&bytes[..4], b"ESKF");
        assert_eq!((decoded.step(), decoded.f64(16)), (frame.step, frame.time));
        let [grains, spheres, groups, chains, walls, picks] =
            [0, 1, 2, 3, 4, 5].map(|i| decoded.u32(80 + 4 * i) as usize);
        assert_eq!((grains, spheres, groups, walls, picks), (7, 5, 1, 1, 2));
        let loaded = frame.contacts.iter().filter(|c| c.normal_impulse > 0.0);
        assert_eq!(chains, loaded.count());
        // Spheres come first; here they have the lower ids, too.
        for grain in 0..grains {
            let at = 112 + 16 * grain;
            for axis in 0..3 {
                let x = decoded.f64(24 + 8 * axis) + decoded.f32(at + 4 * axis);
                assert!(
                    (x - frame.position[grain][axis]).abs() < 1e-8,
                    "grain {grain}"
                );
            }
            let size = if grain < spheres {
                frame.radius[grain]
            } else {
                frame.scale[grain]
            };
            assert!((decoded.f32(at + 12) / size - 1.0).abs() < 1e-6);
            let value = decoded.f32(112 + 16 * grains + 4 * grain);
            let speed = frame.velocity[grain].length();
            assert!(
                (value - speed).abs() <= 1e-6 * speed.max(1e-9),
                "{value} {speed}"
            );
        }
        let rotations = 112 + 20 * grains;
        let own = frame.orientation[5].to_array();
        for (axis, number) in own.iter().enumerate() {
            assert!((decoded.f32(rotations + 4 * axis) - number).abs() < 1e-6);
        }
        let group = rotations + 16 * (grains - spheres);
        assert_eq!([0, 4, 8].map(|k| decoded.u32(group + k)), [0, 5, 2]);
        let last = bytes.len() - 8;
        assert_eq!(last, group + 12 + 28 * chains + 28 * walls);
        assert_eq!([decoded.u32(last), decoded.u32(last + 4)], [6, u32::MAX]);
        let grain = running.json(&format!("grain?step={step}&index=6"));
        assert_eq!(grain["id"], picked.to_string());
        assert_eq!(grain["position"][2].as_f64().unwrap(), frame.position[6].z);
    }
    let trace = running.json("trace?id=0");
    assert_eq!(trace["places"].as_array().unwrap().len(), steps.len());
    let series = running.json("series?columns=1,5&points=10");
    assert_eq!(series["time"].as_array().unwrap().len(), 10);
    assert!((series["time"][9].as_f64().unwrap() - 0.1).abs() < 1e-9);
    let view = running.json("view?view=front&aspect=1.5");
    assert!(view["fov_y"].is_null() && view["height"].as_f64().unwrap() > 0.0);
    assert_eq!(view["floors"][0], 0);
}

/// A paddle on an axle with a motor, a rod that slides on it, and a link between two points.
const MACHINE: &str = r#"
    duration = 0.05
    step = 1e-3
    record = { every = 0.01, precision = "double" }
    material.steel = { density = 7800, young = 1e9 }
    [[body]]
    name = "paddle"
    material = "steel"
    shape = { box = [0.1, 0.02, 0.02] }
    [[body]]
    name = "rod"
    material = "steel"
    shape = { box = [0.02, 0.02, 0.02] }
    position = [0, 0, 0.1]
    [[body]]
    name = "bob"
    material = "steel"
    shape = { sphere = 0.02 }
    position = [0.3, 0, 0]
    [[joint]]
    name = "axle"
    kind = "revolute"
    bodies = ["ground", "paddle"]
    anchor = [0, 0, 0]
    axis = [0, 1, 0]
    [[joint]]
    name = "guide"
    kind = "prismatic"
    bodies = ["paddle", "rod"]
    anchor = [0, 0, 0.1]
    axis = [1, 0, 0]
    [[joint]]
    name = "link"
    kind = "distance"
    bodies = ["ground", "bob"]
    anchor = [0.3, 0, 0.2]
    second_anchor = [0.3, 0, 0]
    [[drive]]
    name = "motor"
    joint = "axle"
    kind = "motor"
    value = 10.0
    limit = 10.0
"#;

/// The page of a recording and of a live run did not show joints, which pictures did.
#[test]
fn joints_come_with_frames_that_ask_for_them_finished_and_live() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    let mut recorded = simulation(MACHINE);
    recorded.record_to(&folder, false).unwrap();
    let end = recorded.end_of_scene();
    let go = recorded.run(end, || false, |_, _| Ok::<(), esker::Error>(()));
    assert!(go.unwrap());
    recorded.finish().unwrap();
    let recording = Recording::open(&folder.join("recording.h5")).unwrap();
    let frame = recording.frame(recording.frames().len() - 1).unwrap();
    let finished = Running::start(Source::Recorded(RecordedRun::open(&folder).unwrap()));
    let live = Running::start(Source::Live(LiveRun::start(simulation(MACHINE))));
    live.wait("status", |status| status["live"]["state"] == "finished");
    for running in [&finished, &live] {
        let about = running.json("about");
        assert!(about["no_joints"].is_null(), "{about}");
        let plain = running.get(&format!("frame?step={}", frame.step));
        let bytes = running.get(&format!("frame?step={}&joints=1&picked=99", frame.step));
        let decoded = Decoded(&bytes);
        assert_eq!(Decoded(&plain).u32(104), 0);
        assert_eq!(decoded.u32(104), 3);
        assert_eq!(bytes.len(), plain.len() + 3 * 44 + 4);
        let point = |at: usize| {
            let x = |axis: usize| decoded.f64(24 + 8 * axis) + decoded.f32(at + 4 * axis);
            [x(0), x(1), x(2)].into()
        };
        for (k, joint) in frame.joints.iter().enumerate() {
            let at = bytes.len() - 4 - 44 * (3 - k);
            let near = |one: glam::DVec3, other: glam::DVec3| one.distance(other) < 1e-6;
            assert!(near(point(at), joint.anchors[1]), "joint {k}");
            assert!(decoded.f32(at + 12) > 0.0);
            let ends: [glam::DVec3; 2] = [point(at + 16), point(at + 28)];
            match joint.axis {
                Some(axis) => {
                    let along = (ends[1] - ends[0]).normalize();
                    assert!(near(along, axis), "joint {k}: {along}");
                }
                None => assert!(near(ends[0], joint.anchors[0]) && near(ends[1], joint.anchors[1])),
            }
            assert_eq!(decoded.f32(at + 40), if k == 0 { 1.0 } else { 0.0 });
        }
    }
    let plain = place.path().join("plain");
    record(&plain, 0.01).finish().unwrap();
    let without = Running::start(Source::Recorded(RecordedRun::open(&plain).unwrap()));
    assert!(without.json("about")["no_joints"].is_string());
    assert_eq!(without.ask("GET", "frame?step=0&joints=1").0, 409);
}

#[test]
fn requests_without_the_token_of_other_hosts_or_other_sites_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    record(&folder, 0.01).finish().unwrap();
    let running = Running::start(Source::Recorded(RecordedRun::open(&folder).unwrap()));
    let (host, token) = (running.host(), running.token());
    let status = |path: &str, headers: &str| {
        let request = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        running.send(&request).0
    };
    let own = format!("Host: {host}\r\n");
    assert_eq!(status(&format!("/{token}/about"), &own), 200);
    assert_eq!(status(&format!("/{token}/"), &own), 200);
    assert_eq!(status(&format!("/{token}"), &own), 308);
    let wrong = token.replace(|c: char| c.is_ascii_digit(), "x");
    for path in [
        "/",
        "/about",
        "/index.html",
        &format!("/{wrong}/about"),
        "//about",
    ] {
        assert_eq!(status(path, &own), 403, "{path}");
    }
    let about = format!("/{token}/about");
    let port = host.rsplit(':').next().unwrap();
    for other in [
        format!("Host: evil.example:{port}\r\n"),
        "Host: 127.0.0.1\r\n".to_owned(),
        format!("{own}Origin: http://evil.example\r\n"),
        format!("{own}Origin: null\r\n"),
        format!("{own}Sec-Fetch-Site: cross-site\r\n"),
    ] {
        assert_eq!(status(&about, &other), 403, "{other}");
    }
    assert_eq!(
        status(&about, &format!("{own}Origin: http://{host}\r\n")),
        200
    );
}

#[test]
fn nothing_but_the_page_and_its_answers_can_be_had() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    record(&folder, 0.01).finish().unwrap();
    let running = Running::start(Source::Recorded(RecordedRun::open(&folder).unwrap()));
    for path in [
        "recording.h5",
        "../recording.h5",
        "..%2f..%2fetc%2fpasswd",
        "../../../../etc/passwd",
        "page/../main.js",
        "/etc/passwd",
        "frame/../../recording.h5",
        "index.html%00",
    ] {
        assert_eq!(running.ask("GET", path).0, 404, "{path}");
    }
    for path in [
        "",
        "main.js",
        "style.css",
        "renderer.js",
        "about",
        "surfaces",
    ] {
        assert_eq!(running.ask("GET", path).0, 200, "{path}");
    }
    for (method, path, status) in [
        ("PUT", "about", 405),
        ("DELETE", "", 405),
        ("POST", "about", 405),
        ("POST", "control?do=pause", 409),
        ("GET", "frame?step=77777", 404),
        ("GET", "frame?step=x", 400),
        ("GET", "frame?step=0&color=taste", 400),
        ("GET", "frame?step=0&color=aggregate", 409),
        ("GET", "view?view=behind", 400),
        ("GET", "view?aspect=-1", 400),
        ("GET", "series?columns=100000", 400),
        ("GET", "grain?step=0&index=100", 404),
        ("GET", "grain?step=0&id=100", 404),
    ] {
        let (answer, body) = running.ask(method, path);
        assert_eq!(
            answer,
            status,
            "{method} {path}: {}",
            String::from_utf8_lossy(&body)
        );
        let told: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert!(told["error"].is_string());
    }
    let large = format!(
        "GET /{}/about HTTP/1.1\r\nHost: {}\r\nX: {}\r\nConnection: close\r\n\r\n",
        running.token(),
        running.host(),
        "x".repeat(100_000)
    );
    assert_eq!(running.send(&large).0, 431);
    let body = format!(
        "POST /{}/control?do=pause HTTP/1.1\r\nHost: {}\r\nContent-Length: 4\r\nConnection: close\r\n\r\nabcd",
        running.token(),
        running.host()
    );
    assert_eq!(running.send(&body).0, 413);
    let mut nonsense = TcpStream::connect(running.host()).unwrap();
    nonsense
        .write_all(b"\x16\x03\x01 what is this\r\n\r\n")
        .unwrap();
    drop(nonsense);
    assert_eq!(running.ask("GET", "about").0, 200);
}

#[test]
fn a_growing_recording_shows_its_new_frames_and_one_that_vanishes_is_told() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    let mut simulation = record(&folder, 0.03);
    simulation.checkpoint().unwrap();
    let running = Running::start(Source::Recorded(RecordedRun::open(&folder).unwrap()));
    let frames = |status: &serde_json::Value| status["frames"].as_u64().unwrap();
    let before = frames(&running.json("status"));
    assert!(before >= 3, "{before}");
    let go = |simulation: &mut Simulation| {
        simulation.run(
            Until::time(0.08),
            || false,
            |_, _| Ok::<(), esker::Error>(()),
        )
    };
    go(&mut simulation).unwrap();
    simulation.finish().unwrap();
    let status = running.wait("status", |status| frames(status) > before);
    assert!(status["problem"].is_null());
    let last = status["last_step"].as_u64().unwrap();
    assert_eq!(
        Decoded(&running.get(&format!("frame?step={last}"))).step(),
        last
    );
    let hidden = place.path().join("elsewhere");
    std::fs::rename(&folder, &hidden).unwrap();
    let told = running.wait("status", |status| status["problem"].is_string());
    assert!(
        told["problem"].as_str().unwrap().contains("recording.h5"),
        "{told}"
    );
    std::fs::rename(&hidden, &folder).unwrap();
    running.wait("status", |status| status["problem"].is_null());
    running.get("frame?step=0");
}

#[test]
fn a_live_run_pauses_steps_goes_on_and_ends_with_the_bits_of_a_run_that_nobody_watches() {
    let alone = {
        let mut simulation = simulation(SCENE);
        let end = simulation.end_of_scene();
        let go = simulation.run(end, || false, |_, _| Ok::<(), esker::Error>(()));
        assert!(go.unwrap());
        simulation.finish().unwrap().state_hash().to_owned()
    };
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    let mut watched = simulation(SCENE);
    watched.record_to(&folder, false).unwrap();
    let running = Running::start(Source::Live(LiveRun::start_paused(watched)));
    let live = |status: &serde_json::Value| status["live"]["state"].as_str().unwrap().to_owned();
    assert_eq!(live(&running.json("status")), "paused");
    assert_eq!(Decoded(&running.get("frame?step=newest")).step(), 0);
    for _ in 0..3 {
        assert_eq!(running.ask("POST", "control?do=step").0, 200);
    }
    let stepped = running.wait("status", |status| status["live"]["step"] == 3);
    assert_eq!(live(&stepped), "paused");
    let bytes = running.get("frame?step=newest&after=2&color=force&chains=1");
    assert_eq!(Decoded(&bytes).step(), 3);
    // A browser that goes away in the middle of a frame.
    for _ in 0..5 {
        let mut stream = TcpStream::connect(running.host()).unwrap();
        let request = format!(
            "GET /{}/frame?step=newest HTTP/1.1\r\nHost: {}\r\n\r\n",
            running.token(),
            running.host()
        );
        stream.write_all(request.as_bytes()).unwrap();
    }
    assert_eq!(running.ask("POST", "control?do=resume").0, 200);
    let finished = running.wait("status", |status| live(status) == "finished");
    assert_eq!(finished["live"]["step"], 100);
    assert!(frames_of(&running) >= 10);
    let series = running.json("series?columns=5&points=1000");
    assert_eq!(series["time"].as_array().unwrap().len(), 100);
    // It is still shown, and cannot be continued.
    assert_eq!(running.ask("POST", "control?do=step").0, 200);
    assert_eq!(running.json("status")["live"]["step"], 100);
    assert_eq!(
        Decoded(&running.get("frame?step=newest&chains=1")).step(),
        100
    );
    let Some(Source::Live(run)) = running.end() else {
        panic!("the run is gone");
    };
    assert_eq!(run.finish().unwrap().state_hash(), alone);
    assert!(folder.join("summary.json").exists());
}

fn frames_of(running: &Running) -> u64 {
    running.json("status")["frames"].as_u64().unwrap()
}

#[test]
fn a_live_run_that_is_stopped_leaves_what_can_be_continued() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    let text = SCENE.replace("duration = 0.1", "duration = 1e5");
    let mut endless = simulation(&text);
    endless.record_to(&folder, false).unwrap();
    let running = Running::start(Source::Live(LiveRun::start(endless)));
    let at = |status: &serde_json::Value| status["live"]["step"].as_u64().unwrap();
    running.wait("status", |status| at(status) > 20);
    let first = Decoded(&running.get("frame?step=newest")).step();
    let next = running.get(&format!("frame?step=newest&after={first}"));
    assert!(Decoded(&next).step() > first);
    assert_eq!(running.ask("POST", "control?do=stop").0, 200);
    let stopped = running.wait("status", |status| status["live"]["state"] == "stopped");
    let Some(Source::Live(run)) = running.end() else {
        panic!("the run is gone");
    };
    let summary = run.finish().unwrap();
    assert!(summary.is_interrupted());
    let scene = LoadedScene::parse(&text, "view", ".").unwrap();
    let resumed = Simulation::resume(scene, &folder).unwrap();
    assert_eq!(resumed.world().steps_done(), at(&stopped));
    assert_eq!(resumed.summary().state_hash(), summary.state_hash());
}

#[test]
fn a_port_that_is_taken_is_told_by_its_number() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    record(&folder, 0.01).finish().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let options = Options {
        port,
        ..Options::default()
    };
    let source = Source::Recorded(RecordedRun::open(&folder).unwrap());
    match Server::bind(source, options) {
        Err(error @ ViewError::PortInUse { .. }) => {
            assert!(error.to_string().contains(&port.to_string()));
        }
        _ => panic!("two servers on one port"),
    }
}
