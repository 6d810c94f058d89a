//! `esker import`: from a robot's description to a scene that runs.

use std::path::Path;
use std::process::{Command, Output};

/// A pendulum whose bob is a mesh in a package folder beside the description.
const PENDULUM: &str = r#"<robot name="pendulum">
  <link name="world"/>
  <link name="bob">
    <inertial>
      <origin xyz="0 0 -0.5"/>
      <mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01"/>
    </inertial>
    <collision>
      <origin xyz="0 0 -0.5"/>
      <geometry><mesh filename="package://pendulum/meshes/bob.obj" scale="0.001 0.001 0.001"/></geometry>
    </collision>
  </link>
  <joint name="pivot" type="continuous">
    <parent link="world"/>
    <child link="bob"/>
    <axis xyz="0 1 0"/>
  </joint>
</robot>
"#;

/// A tetrahedron, in millimetres.
const BOB: &str = "v 0 0 100\nv 100 0 -50\nv -50 87 -50\nv -50 -87 -50\n\
                   f 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n";

fn esker(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_esker"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

fn with_robot(text: &str, test: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let package = folder.path().join("pendulum");
    std::fs::create_dir_all(package.join("meshes")).unwrap();
    std::fs::create_dir_all(package.join("urdf")).unwrap();
    std::fs::write(package.join("meshes/bob.obj"), BOB).unwrap();
    std::fs::write(package.join("urdf/robot.urdf"), text).unwrap();
    test(folder.path());
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn an_imported_robot_runs() {
    with_robot(PENDULUM, |folder| {
        let import = |more: &[&str]| {
            let arguments = [&["import", "pendulum/urdf/robot.urdf"][..], more].concat();
            esker(folder, &arguments)
        };
        // Beside the description, and elsewhere: meshes are found from both places.
        for (more, scene) in [
            (&[][..], "pendulum/urdf/robot.toml"),
            (&["-o", "scene.toml"][..], "scene.toml"),
        ] {
            let output = import(more);
            assert!(output.status.success(), "{}", shown(&output));
            let output = esker(folder, &["check", scene]);
            assert!(output.status.success(), "{}", shown(&output));
        }
        let output = import(&["-o", "scene.toml"]);
        assert!(shown(&output).contains("--force"), "{}", shown(&output));
        let text = std::fs::read_to_string(folder.join("scene.toml")).unwrap();
        let short = text.replace("duration = 5.0", "duration = 0.1");
        std::fs::write(folder.join("scene.toml"), short).unwrap();
        let output = esker(folder, &["run", "scene.toml", "-o", "out"]);
        assert!(output.status.success(), "{}", shown(&output));
    });
}

#[test]
fn a_faulty_description_is_told_with_file_and_line() {
    let faulty = PENDULUM.replace("<mass value=\"1\"/>", "<mass value=\"heavy\"/>");
    with_robot(&faulty, |folder| {
        let output = esker(folder, &["import", "pendulum/urdf/robot.urdf"]);
        assert_eq!(output.status.code(), Some(1));
        let words = shown(&output);
        assert!(
            words.contains("robot.urdf") && words.contains("line 6"),
            "{words}"
        );
        assert!(!folder.join("pendulum/urdf/robot.toml").exists());
        let output = esker(folder, &["import", "nowhere.urdf"]);
        assert!(
            shown(&output).contains("nowhere.urdf"),
            "{}",
            shown(&output)
        );
    });
}
