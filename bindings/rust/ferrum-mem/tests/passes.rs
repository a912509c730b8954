//! Passes of the program: registration, order, results, builds, errors, panics and ends.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use ferrum_mem::{
    BuildRequest, Compute, ComputeConfig, Device, ElasticPoolConfig, ErrorKind, Executor, Library,
    ModelSource, OptimizationPass, PassCall, ProgramFailure,
};
use serde_json::Value;

type Outcome<T> = Result<T, ProgramFailure>;

fn definition() -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    std::fs::read_to_string(root.join("core/ir/testdata/example.json")).unwrap()
}

/// Adds a text to the name of the model.
struct Renamer {
    text: &'static str,
    needs: &'static [&'static str],
    dropped: Arc<AtomicU32>,
}

impl Drop for Renamer {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl OptimizationPass for Renamer {
    fn dependencies(&self) -> Vec<String> {
        self.needs.iter().map(|it| (*it).to_owned()).collect()
    }

    fn apply(&self, call: &PassCall<'_>) -> Outcome<Option<String>> {
        let mut model: Value = serde_json::from_str(call.definition_json()).unwrap();
        let name = model["metadata"]["name"].as_str().unwrap_or("").to_owned() + self.text;
        model["metadata"]["name"] = name.into();
        Ok(Some(model.to_string()))
    }
}

fn renamer(text: &'static str, needs: &'static [&'static str]) -> Renamer {
    Renamer {
        text,
        needs,
        dropped: Arc::default(),
    }
}

/// A pass that is a closure.
struct Own<F>(F);

impl<F: Fn(&PassCall<'_>) -> Outcome<Option<String>> + Send + Sync> OptimizationPass for Own<F> {
    fn apply(&self, call: &PassCall<'_>) -> Outcome<Option<String>> {
        (self.0)(call)
    }
}

struct Never;

impl OptimizationPass for Never {
    fn is_applicable(&self, call: &PassCall<'_>) -> Outcome<bool> {
        Ok(call.definition_json().is_empty())
    }

    fn apply(&self, _: &PassCall<'_>) -> Outcome<Option<String>> {
        panic!("it is not applicable");
    }
}

#[test]
fn passes_run_in_order_and_end() {
    let library = Library::start().unwrap();
    let first = renamer(" first", &["merge_same"]);
    let dropped = first.dropped.clone();
    let second = library
        .register_pass("second", renamer(" second", &["first"]))
        .unwrap();
    let first = library.register_pass("first", first).unwrap();
    assert_eq!(first.name(), "first");
    let never = library.register_pass("never", Never).unwrap();
    let names = r#"["never", "second", "first", "merge_same"]"#;
    let made = library
        .optimize_definition(&definition(), Some(names))
        .unwrap();
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!(
        made["definition"]["metadata"]["name"],
        "example first second"
    );
    let ran: Vec<_> = made["passes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["pass"].as_str().unwrap(), it["applied"].as_bool()))
        .collect();
    assert_eq!(
        ran,
        [
            ("never", Some(false)),
            ("merge_same", Some(false)),
            ("first", Some(true)),
            ("second", Some(true))
        ]
    );
    let standard = library.optimize_definition(&definition(), None).unwrap();
    assert!(standard.contains("fuse_norm"), "{standard}");
    assert!(library.builder_info_json().unwrap().contains("\"second\""));
    drop((second, never));
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    first.close().unwrap();
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    let refused = library.optimize_definition(&definition(), Some(r#"["first"]"#));
    assert_eq!(refused.unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn errors_and_panics_end_the_call() {
    let library = Library::start().unwrap();
    let fails = |name: &str, act: fn(&PassCall<'_>) -> Outcome<Option<String>>| {
        let pass = library.register_pass(name, Own(act)).unwrap();
        let names = format!("[{name:?}]");
        let failed = library
            .optimize_definition(&definition(), Some(&names))
            .unwrap_err();
        assert!(failed.message.contains(name), "{}", failed.message);
        pass.close().unwrap();
        failed
    };
    let failed = fails("fails", |_| {
        Err(ProgramFailure::new(
            ErrorKind::Timeout,
            "too slow ".repeat(100),
        ))
    });
    assert_eq!(failed.kind, ErrorKind::Timeout);
    assert!(failed.message.contains("too slow"));
    let failed = fails("panics", |_| panic!("provoked"));
    assert_eq!(failed.kind, ErrorKind::Internal);
    assert!(failed.message.contains("panicked"));
    let failed = fails("breaks", |call| {
        Ok(Some(call.definition_json().replace("Softmax", "Softmin")))
    });
    assert_eq!(failed.kind, ErrorKind::InvalidConfig);
    assert!(failed.message.contains("layers[3]"), "{}", failed.message);
    let failed = fails("empty", |_| Ok(Some(String::new())));
    assert_eq!(failed.kind, ErrorKind::InvalidFormat);
    let failed = fails("huge", |_| Ok(Some(" ".repeat((64 << 20) + 1))));
    assert_eq!(failed.kind, ErrorKind::InvalidSize);
    let failed = fails("warns", |call| {
        Ok(call.warn(&"w".repeat(2000)).map(|()| None)?)
    });
    assert_eq!(failed.kind, ErrorKind::InvalidArgument);

    let warns = Own(|call: &PassCall<'_>| {
        call.warn("nothing to join")?;
        Ok(None)
    });
    let warns = library.register_pass("warns", warns).unwrap();
    let made = library.optimize_definition(&definition(), Some(r#"["warns"]"#));
    assert!(made.unwrap().contains(r#""warnings":["nothing to join"]"#));
    drop(warns);
}

#[test]
fn wrong_names_are_refused_and_the_pass_is_dropped() {
    let library = Library::start().unwrap();
    for (name, needs, kind) in [
        ("fuse_norm", &[][..], ErrorKind::AlreadyExists),
        ("", &[], ErrorKind::InvalidArgument),
        ("a b", &[], ErrorKind::InvalidArgument),
        ("a\0b", &[], ErrorKind::InvalidArgument),
        ("new", &["a b"], ErrorKind::InvalidArgument),
        ("new", &["x"; 65], ErrorKind::InvalidArgument),
    ] {
        let pass = renamer("", needs);
        let dropped = pass.dropped.clone();
        let refused = library.register_pass(name, pass).unwrap_err();
        assert_eq!(refused.kind, kind, "{name:?}");
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
    }
    let circle = library.register_pass("circle", renamer("", &["circle"]));
    let _circle = circle.unwrap();
    let refused = library.optimize_definition(&definition(), Some(r#"["circle"]"#));
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidArgument);
    assert!(refused.message.contains("circle -> circle"));
    let refused = library.optimize_definition("{", None).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidFormat);
}

#[test]
fn a_build_uses_a_pass_which_stays() {
    let library = Library::start().unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    let compute = Compute::open(&device, &ComputeConfig::default()).unwrap();
    let pool = device
        .create_elastic_pool(&ElasticPoolConfig::default())
        .unwrap();
    let (started, entered) = std::sync::mpsc::channel();
    let (leave, left) = std::sync::mpsc::channel::<()>();
    let (started, left) = (std::sync::Mutex::new(started), std::sync::Mutex::new(left));
    let waits = Own(move |call: &PassCall<'_>| {
        started.lock().unwrap().send(()).unwrap();
        left.lock().unwrap().recv().unwrap();
        Ok(Some(call.definition_json().replacen("example", "built", 1)))
    });
    let pass = library.register_pass("waits", waits).unwrap();
    let text = definition();
    std::thread::scope(|scope| {
        let build = scope.spawn(|| {
            let source = ModelSource::Definition {
                json: &text,
                weights: None,
            };
            let mut request = BuildRequest::new(source, &compute, &pool);
            request.options_json = r#"{"passes": ["waits"]}"#;
            Executor::build(&request)
        });
        entered.recv().unwrap();
        let busy = pass.close().unwrap_err();
        assert_eq!(busy.kind(), ErrorKind::Busy);
        leave.send(()).unwrap();
        let refused = build.join().unwrap();
        // The table has no rule and no weights, so the build fails after its passes.
        let model = refused.unwrap_err();
        assert!(!model.message.contains("pass"), "{}", model.message);
        busy.object.close().unwrap();
    });
}
