//! Layer types of the program: registration, models, parameters, errors, panics and ends.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use ferrum_mem::{
    BuildRequest, Compute, ComputeCall, ComputePlan, DType, Device, ElasticPool, ErrorKind,
    Executor, Layer, LayerConfig, LayerOutput, Library, ModelSource, ProgramFailure, Tensor,
};

type Outcome<T> = Result<T, ProgramFailure>;

/// Multiplies by a gain, which it makes, and removes every second column if told so.
#[derive(Default)]
struct Scale {
    halves: bool,
    lists: bool,
    fails: Mutex<Option<ProgramFailure>>,
    panics: bool,
    dropped: Arc<AtomicU32>,
}

fn scale(change: impl FnOnce(&mut Scale)) -> Scale {
    let mut made = Scale::default();
    change(&mut made);
    made
}

impl Drop for Scale {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl Layer for Scale {
    fn forward(&self, call: &ComputeCall<'_>) -> Outcome<()> {
        assert!(!self.panics, "provoked");
        if let Some(failure) = self.fails.lock().unwrap().clone() {
            return Err(failure);
        }
        assert_eq!(call.workspace().1, 64);
        let x = call.input(0)?.read::<f32>()?;
        let width = call.input(0)?.shape()[1] as usize;
        let step = if self.halves { 2 } else { 1 };
        let gain = match call.inputs().len() {
            1 => vec![1.0; width],
            _ => call.input(1)?.read::<f32>()?,
        };
        let made = (0..x.len()).step_by(step).map(|i| x[i] * gain[i % width]);
        call.output(0)?.write(&made.collect::<Vec<_>>())
    }

    fn infer(&self, call: &ComputeCall<'_>, outputs: &mut [Option<LayerOutput>]) -> Outcome<()> {
        assert_eq!(call.domain(), "mine");
        if let (true, Some(output)) = (self.halves, &mut outputs[0]) {
            assert_eq!(output.dtype, DType::F32);
            output.shape[1] /= 2;
        }
        Ok(())
    }

    fn parameters(&self, _: &ComputeCall<'_>) -> Outcome<Option<String>> {
        let list = r#"[{"name": "gain", "shape": [4], "dtype": "f32"}]"#;
        Ok(self.lists.then(|| list.to_owned()))
    }

    fn initialize(&self, call: &ComputeCall<'_>, parameter: &str) -> Outcome<()> {
        assert_eq!(parameter, "gain");
        call.output(0)?.write(&[1.0f32, 2.0, 3.0, 4.0])
    }

    fn plan(&self, _: &ComputeCall<'_>) -> Outcome<ComputePlan> {
        Ok(ComputePlan {
            workspace_bytes: 64,
            ..Default::default()
        })
    }
}

struct Rig {
    library: Library,
    device: Device,
}

fn rig() -> Rig {
    let library = Library::start().unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    Rig { library, device }
}

impl Rig {
    fn compute(&self) -> Compute {
        Compute::open(&self.device, &Default::default()).unwrap()
    }

    fn x(&self) -> Tensor {
        let values = vec![1.0f32, -2.0, 3.0, 4.0, 5.0, 6.0, -7.0, 8.0];
        Tensor::from_vec(&self.device, values, &[2, 4]).unwrap()
    }
}

const DEFINITION: &str = r#"{
  "metadata": {"name": "m", "version": "1", "model_type": "m", "architecture_family": "custom"},
  "architecture": {"name": "m", "dimensions": {"vocab_size": 1, "hidden_size": 4, "num_layers": 1,
    "num_heads": 1, "max_sequence_length": 1}},
  "parameters": [],
  "layers": [
    {"name": "x", "layer_type": "Input", "inputs": [], "parameters": [],
     "outputs": [{"name": "x", "shape": [-1, 4], "dtype": "f32"}]},
    {"name": "s", "layer_type": "mine.scale", "parameters": [],
     "inputs": [{"name": "in", "shape": [-1, 4], "dtype": "f32"}],
     "outputs": [{"name": "out", "shape": [-1, 4], "dtype": "f32"}]},
    {"name": "r", "layer_type": "Relu", "parameters": [],
     "inputs": [{"name": "X", "shape": [-1, 4], "dtype": "f32"}],
     "outputs": [{"name": "Y", "shape": [-1, 4], "dtype": "f32"}]}],
  "graph": {"inputs": ["x"], "outputs": ["r"],
    "nodes": [{"id": "x", "layer_name": "x"}, {"id": "s", "layer_name": "s"},
      {"id": "r", "layer_name": "r"}],
    "edges": [{"source": "x", "target": "s"}, {"source": "s", "target": "r"}]}
}"#;

#[test]
fn test_a_model_computes_a_layer() {
    let rig = rig();
    let layer = scale(|it| it.lists = true);
    let dropped = layer.dropped.clone();
    let config = LayerConfig {
        input_shape: Some(vec![-1, 4]),
        config_json: r#"{"a": 1}"#.to_owned(),
        ..Default::default()
    };
    let registered = rig.library.register_layer("mine.scale", &config, layer);
    let registered = registered.unwrap();
    assert_eq!(registered.layer_type(), "mine.scale");
    let (compute, pool) = (
        rig.compute(),
        rig.device.create_elastic_pool(&Default::default()),
    );
    let pool: ElasticPool = pool.unwrap();
    let source = ModelSource::Definition {
        json: DEFINITION,
        weights: None,
    };
    let model = Executor::build(&BuildRequest::new(source, &compute, &pool)).unwrap();
    let outputs = model.run(&[("x", &rig.x())], &["r"]).unwrap();
    let got = outputs[0].to_vec::<f32>(None).unwrap();
    assert_eq!(got, [1.0, 0.0, 9.0, 16.0, 5.0, 12.0, 0.0, 32.0]);
    let listed = rig.library.layers_json().unwrap();
    assert!(listed.contains(r#""layer_type":"mine.scale""#), "{listed}");
    let busy = registered.close().unwrap_err();
    assert_eq!(busy.error.kind, ErrorKind::Busy);
    drop((outputs, model));
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    busy.object.close().unwrap();
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

#[test]
fn test_an_operation_of_a_layer_infers_another_shape() {
    let rig = rig();
    let layer = scale(|it| it.halves = true);
    let config = LayerConfig::default();
    let registered = rig.library.register_layer("mine.halves", &config, layer);
    let registered = registered.unwrap();
    let again = rig
        .library
        .register_layer("mine.halves", &config, Scale::default());
    assert_eq!(again.unwrap_err().kind, ErrorKind::AlreadyExists);
    {
        let compute = rig.compute();
        let op = compute.prepare("mine.halves", "", None).unwrap();
        let x = rig.x();
        let y = op.run_one(&[&x], None).unwrap();
        assert_eq!(y.to_vec::<f32>(None).unwrap(), [1.0, 3.0, 5.0, -7.0]);
    }
    registered.close().unwrap();
    for wrong in ["", "scale", "ferrum.scale", "mine.a b"] {
        let refused = rig.library.register_layer(wrong, &config, Scale::default());
        assert_eq!(refused.unwrap_err().kind, ErrorKind::InvalidArgument);
    }
    let long = LayerConfig {
        input_shape: Some(vec![1; 9]),
        ..Default::default()
    };
    let refused = rig
        .library
        .register_layer("mine.x", &long, Scale::default());
    assert_eq!(refused.unwrap_err().kind, ErrorKind::InvalidArgument);
}

#[test]
fn test_errors_and_panics_are_carried_back() {
    let rig = rig();
    let compute = rig.compute();
    // The failure of queued work is that of the next wait for its stream, and other tests wait for
    // the default stream.
    let stream = rig.device.create_stream().unwrap();
    for (layer, kind, says) in [
        (
            scale(|it| {
                it.fails = Mutex::new(Some(ProgramFailure::new(ErrorKind::Timeout, "too late")))
            }),
            ErrorKind::Timeout,
            "too late",
        ),
        (
            scale(|it| it.panics = true),
            ErrorKind::Internal,
            "panicked",
        ),
    ] {
        let config = LayerConfig::default();
        let registered = rig.library.register_layer("mine.fails", &config, layer);
        let registered = registered.unwrap();
        {
            let op = compute.prepare("mine.fails", "", None).unwrap();
            let ran = op.run_one(&[&rig.x()], Some(&stream));
            let failed = ran.and_then(|_| stream.synchronize(None)).unwrap_err();
            assert_eq!(failed.kind, kind, "{failed}");
            assert!(failed.message.contains(says), "{failed}");
            assert!(failed.message.contains("mine.fails"), "{failed}");
        }
        registered.close().unwrap();
    }
}
