//! The configurations of the other library, and what they come to.

use workden_core::ErrorKind;
use workden_policy::{
    MountApproval, MountMode, MountRules,
    configs::{Mount, MountsConfig, SandboxConfig},
};

use crate::path;

fn sandbox(json: &str) -> SandboxConfig {
    serde_json::from_str(json).unwrap()
}

#[test]
fn names_become_mounts_in_the_order_of_the_configuration() {
    let config = sandbox(
        r#"{"paths": {"output": {"root": "./out", "mode": "rw", "suffixes": [".md"], "max_file_bytes": 10},
                      "config": {"root": "/host/config", "read_approval": true, "write_approval": false}}}"#,
    );
    let configured = config.to_mounts().unwrap();
    let mounts: Vec<&MountRules> = configured.table.iter().collect();
    assert_eq!(
        *mounts[0],
        MountRules {
            at: path("/output"),
            access: MountMode::ReadWrite,
            suffixes: Some(vec![".md".into()]),
            max_file_bytes: Some(10),
            read_approval: MountApproval::NotNeeded,
            write_approval: MountApproval::Needed,
        }
    );
    assert_eq!((mounts[1].at.as_str(), mounts[1].access), ("/config", MountMode::ReadOnly));
    assert_eq!((mounts[1].read_approval, mounts[1].write_approval), (MountApproval::Needed, MountApproval::NotNeeded));
    let hosts: Vec<_> = configured.hosts.iter().map(|host| (host.at.as_str(), host.host_path.as_str())).collect();
    assert_eq!(hosts, [("/output", "./out"), ("/config", "/host/config")]);
    assert_eq!(sandbox(&serde_json::to_string(&config).unwrap()), config);
}

#[test]
fn one_root_is_a_mount_of_everything() {
    for (json, access) in [
        (r#"{"root": {"root": "."}}"#, MountMode::ReadWrite),
        (r#"{"root": {"root": ".", "readonly": true}}"#, MountMode::ReadOnly),
    ] {
        let configured = sandbox(json).to_mounts().unwrap();
        let mount = configured.table.iter().next().unwrap();
        assert_eq!((mount.at.as_str(), mount.access), ("/", access));
        assert_eq!((mount.write_approval, mount.read_approval), (MountApproval::Needed, MountApproval::NotNeeded));
    }
}

#[test]
fn exactly_one_of_root_and_paths() {
    for (json, sentence) in [
        ("{}", "SandboxConfig requires exactly one of 'root' or 'paths'."),
        (r#"{"root": {"root": "."}, "paths": {}}"#, "SandboxConfig cannot set both 'root' and 'paths'."),
    ] {
        assert_eq!(sandbox(json).to_mounts().unwrap_err().sentence(), sentence);
    }
    assert_eq!(sandbox(r#"{"paths": {}}"#).to_mounts().unwrap().table.iter().count(), 0);
}

#[test]
fn names_that_are_no_names_and_unknown_fields_are_errors() {
    for (name, kind) in [
        ("", ErrorKind::InvalidArgument),
        (".", ErrorKind::InvalidArgument),
        ("../x", ErrorKind::Escapes),
        ("a\\u0000b", ErrorKind::InvalidPath),
    ] {
        let error =
            sandbox(&format!(r#"{{"paths": {{"{name}": {{"root": "/host/secret"}}}}}}"#)).to_mounts().unwrap_err();
        assert_eq!(error.kind(), kind, "{name}");
        assert!(!error.to_string().contains("/host"), "{error}");
    }
    let twice = sandbox(r#"{"paths": {"a": {"root": "/host/1"}, "./a": {"root": "/host/2"}}}"#);
    assert_eq!(twice.to_mounts().unwrap_err().sentence(), "Duplicate mount point: '/a'");
    assert!(serde_json::from_str::<SandboxConfig>(r#"{"paths": {"a": {"root": ".", "mod": "rw"}}}"#).is_err());
    assert!(serde_json::from_str::<SandboxConfig>(r#"{"paths": {"a": {"root": ".", "mode": "wo"}}}"#).is_err());
}

#[test]
fn mount_points_have_one_normal_form() {
    let mount = |mount_point: &str| Mount {
        host_path: "/host/x".into(),
        mount_point: mount_point.into(),
        mode: MountMode::ReadOnly,
        suffixes: None,
        max_file_bytes: None,
        write_approval: MountApproval::Needed,
        read_approval: MountApproval::NotNeeded,
    };
    for (written, expected) in [
        ("/docs", "/docs"),
        (" /docs/ ", "/docs"),
        ("\\docs\\a", "/docs/a"),
        ("", "/"),
        ("/a/../b", "/b"),
        ("//a/.//b", "/a/b"),
    ] {
        assert_eq!(mount(written).place().unwrap().as_str(), expected, "{written:?}");
    }
    assert_eq!(mount("docs").place().unwrap_err().sentence(), "mount_point must start with '/': 'docs'");
    assert_eq!(mount("/a\0b").place().unwrap_err().kind(), ErrorKind::InvalidPath);
    assert_eq!(mount("/../b").place().unwrap_err().kind(), ErrorKind::Escapes);
    let of = |mounts| MountsConfig { mounts }.to_mounts();
    assert_eq!(of(vec![]).unwrap_err().sentence(), "SandboxConfig requires at least one mount");
    let twice = of(vec![mount("/a"), mount("/b/../a")]).unwrap_err();
    assert_eq!((twice.kind(), twice.sentence()), (ErrorKind::AlreadyExists, "Duplicate mount point: '/a'"));
    assert!(!twice.to_string().contains("/host"));
}

#[test]
fn defaults_are_those_of_the_other_library() {
    let config: MountsConfig =
        serde_json::from_str(r#"{"mounts": [{"host_path": "/h", "mount_point": "/m"}]}"#).unwrap();
    let mount = config.to_mounts().unwrap().table.iter().next().unwrap().clone();
    let expected = MountRules { write_approval: MountApproval::Needed, ..MountRules::read_only(path("/m")) };
    assert_eq!(mount, expected);
}
