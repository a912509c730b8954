//! Backends, operations and sequences: what they compute, keep and return, and wrong arguments.

use ferrum_mem::{
    leak_report_json, Compute, ComputeConfig, ComputeGrowth, ComputeType, Config, DType, Device,
    ErrorKind, Library, LoadMemory, Op, OpOutput, Pool, PoolConfig, Result, Sequence, Tensor,
    TensorLayout,
};
use serde_json::{json, Value};

const MIB: u64 = 1 << 20;

struct Rig {
    device: Device,
    pool: Pool,
    compute: Compute,
}

// One test function, because the tests of a process share one library and see its objects.
#[test]
fn compute() {
    let library = Library::start_with(&Config {
        host_devices: Some(2),
        host_memory_bytes: Some(256 * MIB),
        ..Default::default()
    })
    .unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    let rig = Rig {
        pool: device.create_pool(&PoolConfig::default()).unwrap(),
        compute: Compute::open(&device, &ComputeConfig::default()).unwrap(),
        device,
    };
    for test in [
        listed, opened, run, inferred, packed, sequenced, ordered, handles,
    ] {
        test(&library, &rig);
    }
    let Rig {
        device,
        pool,
        compute,
    } = rig;
    compute.close().unwrap();
    pool.close().unwrap();
    device.close().unwrap();
    library.close().unwrap();
    let left = leak_report_json().unwrap();
    assert!(!left.contains("\"kind\""), "{left}");
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec(None).unwrap()
}

fn of(rig: &Rig, data: &[f32], shape: &[u64]) -> Tensor {
    Tensor::from_vec(&rig.device, data.to_vec(), shape).unwrap()
}

#[track_caller]
fn kind<T>(result: Result<T>) -> ErrorKind {
    result.err().expect("it has to fail").kind
}

fn parsed(text: Result<String>) -> Value {
    serde_json::from_str(&text.unwrap()).unwrap()
}

fn listed(library: &Library, rig: &Rig) {
    let all = parsed(library.compute_backends_json()).to_string();
    assert!(
        all.contains("\"cpu\"") && all.contains("\"available\":false"),
        "{all}"
    );
    let found = parsed(library.find_compute_json(""));
    assert_eq!(found["best"], "cpu", "{found}");
    let required = json!({"required_devices": ["cuda:7"]}).to_string();
    let found = parsed(library.find_compute_json(&required));
    assert_eq!(found["best"], "");
    let reasons = found["candidates"].to_string();
    assert!(reasons.contains("it does not support cuda:7"), "{found}");
    assert_eq!(
        kind(library.find_compute_json("[1]")),
        ErrorKind::InvalidFormat
    );
    let has = parsed(rig.compute.capabilities_json());
    assert!(
        has["supported_dtypes"]
            .as_array()
            .unwrap()
            .contains(&json!("f32")),
        "{has}"
    );
    let status = parsed(rig.compute.status_json());
    assert_eq!(
        (&status["is_ready"], &status["active_devices"]),
        (&json!(true), &json!(["cpu:0"]))
    );
    rig.compute.synchronize(None).unwrap();
}

fn opened(library: &Library, rig: &Rig) {
    let config = |change: fn(&mut ComputeConfig)| {
        let mut config = ComputeConfig::default();
        change(&mut config);
        config
    };
    library.check_compute(&ComputeConfig::default()).unwrap();
    type Change = fn(&mut ComputeConfig);
    let cases: [(Change, ErrorKind); 6] = [
        (|it| it.optimization_level = 4, ErrorKind::InvalidConfig),
        (|it| it.alignment_bytes = Some(3), ErrorKind::InvalidConfig),
        (
            |it| it.compute_type = ComputeType::Tensorrt,
            ErrorKind::Unsupported,
        ),
        (
            |it| it.options_json = Some("[1]".into()),
            ErrorKind::InvalidFormat,
        ),
        (
            |it| it.options_json = Some(r#"{"plan": 1}"#.into()),
            ErrorKind::InvalidConfig,
        ),
        (
            |it| it.name = Some("a\0b".into()),
            ErrorKind::InvalidArgument,
        ),
    ];
    for (change, expected) in cases {
        let config = config(change);
        assert_eq!(kind(library.check_compute(&config)), expected, "{config:?}");
        assert_eq!(
            kind(Compute::open(&rig.device, &config)),
            expected,
            "{config:?}"
        );
    }
    let unknown = config(|it| {
        it.compute_type = ComputeType::Custom;
        it.name = Some("none".into());
    });
    assert_eq!(
        kind(Compute::open(&rig.device, &unknown)),
        ErrorKind::NotFound
    );
    let small = config(|it| {
        it.growth = ComputeGrowth::Static;
        it.pool_size_bytes = Some(MIB);
        it.threads = Some(1);
        it.options_json = Some(r#"{"plans": 1}"#.into());
    });
    let small = Compute::open(&rig.device, &small).unwrap();
    let usage = parsed(small.status_json());
    assert!(
        usage["memory_usage"]["cpu:0"].as_u64().unwrap() >= MIB,
        "{usage}"
    );
    let large = Tensor::create(&LoadMemory::pool(&rig.pool), DType::F32, &[MIB], None).unwrap();
    let doubled = small.prepare("Add", "", None).unwrap();
    assert_eq!(
        kind(doubled.run_one(&[&large, &large], None)),
        ErrorKind::OutOfMemory
    );
    // An operation keeps its backend open.
    let busy = small.close().unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy);
    drop(doubled);
    busy.object.close().unwrap();
}

fn run(_: &Library, rig: &Rig) {
    let (a, b) = (
        of(rig, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]),
        of(rig, &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], &[3, 2]),
    );
    let product = rig.compute.prepare("MatMul", "", None).unwrap();
    let made = product.run_one(&[&a, &b], None).unwrap();
    assert_eq!(
        (made.shape(), floats(&made)),
        ([2, 2].as_slice(), vec![4.0, 5.0, 10.0, 11.0])
    );
    // The same operation with views, into a tensor of the program.
    let (bt, at) = (b.permute(&[1, 0]).unwrap(), a.permute(&[1, 0]).unwrap());
    let to = Tensor::create(&LoadMemory::pool(&rig.pool), DType::F32, &[2, 2], None).unwrap();
    let outputs = product
        .run(&[Some(&bt), Some(&at)], &[OpOutput::To(&to)], None)
        .unwrap();
    assert!(matches!(outputs[..], [None]));
    assert_eq!(floats(&to), [4.0, 10.0, 5.0, 11.0]);
    // Absent inputs, and outputs that are not wanted.
    let attributes = json!({"axis": -1, "largest": 1}).to_string();
    let top = rig.compute.prepare("TopK", &attributes, None).unwrap();
    let count = Tensor::from_vec(&rig.device, vec![2i64], &[1]).unwrap();
    let made = top.run(
        &[Some(&a), Some(&count)],
        &[OpOutput::Unwanted, OpOutput::New],
        None,
    );
    let [None, Some(indices)] = &made.unwrap()[..] else {
        panic!("the values are not wanted")
    };
    assert_eq!(indices.to_vec::<i64>(None).unwrap(), [2, 1, 2, 1]);
    let scaled = rig
        .compute
        .prepare("Gemm", r#"{"alpha": 2.0}"#, None)
        .unwrap();
    let made = scaled
        .run(&[Some(&a), Some(&b), None], &[OpOutput::New], None)
        .unwrap();
    assert_eq!(floats(made[0].as_ref().unwrap()), [8.0, 10.0, 20.0, 22.0]);
    let completed = |rig: &Rig| parsed(rig.compute.status_json())["operations_completed"].as_u64();
    let before = completed(rig).unwrap();

    // Errors name the operator, the input and both shapes, and change nothing.
    let wrong = product
        .run(&[Some(&a), Some(&a)], &[OpOutput::To(&to)], None)
        .unwrap_err();
    assert_eq!(wrong.kind, ErrorKind::InvalidArgument);
    for text in ["MatMul", "\"A\"", "\"B\"", "[2, 3]"] {
        assert!(wrong.message.contains(text), "{wrong}");
    }
    assert_eq!(floats(&to), [4.0, 10.0, 5.0, 11.0]);
    let narrow = to.narrow(0, 0, 1).unwrap();
    let short = product.run(&[Some(&a), Some(&b)], &[OpOutput::To(&narrow)], None);
    assert_eq!(kind(short), ErrorKind::InvalidArgument);
    assert_eq!(
        kind(product.run(&[], &[OpOutput::New], None)),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(product.run(&[None, None], &[OpOutput::New], None)),
        ErrorKind::InvalidArgument
    );
    assert_eq!(completed(rig).unwrap(), before);
    let near = rig.compute.prepare("MatMull", "", None).unwrap_err();
    assert_eq!(near.kind, ErrorKind::NotFound);
    assert!(near.message.contains("MatMul"), "{near}");
    let wrong =
        |name: &str, attributes: &str, opset| kind(rig.compute.prepare(name, attributes, opset));
    assert_eq!(
        wrong("Softmax", r#"{"axes": 1}"#, None),
        ErrorKind::InvalidArgument
    );
    assert_eq!(wrong("Softmax", "{", None), ErrorKind::InvalidArgument);
    assert_eq!(wrong("Softmax", "", Some(1)), ErrorKind::Unsupported);
    assert_eq!(wrong("Soft\0max", "", None), ErrorKind::InvalidArgument);
}

fn inferred(_: &Library, rig: &Rig) {
    let a = of(rig, &[0.0; 6], &[2, 3]);
    let norm = rig.compute.prepare("LayerNormalization", "", None).unwrap();
    let scale = of(rig, &[1.0; 3], &[3]);
    let inputs = [
        Some(a.permute(&[0, 1]).unwrap().layout()),
        Some(scale.layout()),
        None,
    ];
    let found = norm.infer(&inputs, &[true, false, true]).unwrap();
    let [Some(first), None, Some(third)] = &found.outputs[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (first.dtype, first.shape.as_slice()),
        (DType::F32, [2, 3].as_slice())
    );
    assert_eq!(
        (first.size_bytes, first.is_contiguous, first.address),
        (24, true, None)
    );
    assert_eq!(third.shape, [2, 1]);
    let two = of(rig, &[1.0; 2], &[2]);
    let wrong = norm.infer(&[Some(a.layout()), Some(two.layout())], &[true]);
    assert_eq!(kind(wrong), ErrorKind::InvalidArgument);

    // The elements of a shape.
    let reshape = rig.compute.prepare("Reshape", "", None).unwrap();
    let shape = TensorLayout::new(DType::I64, &[2]);
    let known = [Some(a.layout()), Some(shape.clone().elements(&[3, -1]))];
    let found = reshape.infer(&known, &[true]).unwrap();
    assert_eq!(found.outputs[0].as_ref().unwrap().shape, [3, 2]);
    let unknown = reshape.infer(&[Some(a.layout()), Some(shape)], &[true]);
    assert_eq!(kind(unknown), ErrorKind::InvalidArgument);
}

fn packed(_: &Library, rig: &Rig) {
    let weights: Vec<f32> = (0..64 * 48).map(|it| (it % 7) as f32).collect();
    let (w, x) = (
        of(rig, &weights, &[64, 48]),
        of(rig, &[1.0; 3 * 64], &[3, 64]),
    );
    let product = rig.compute.prepare("MatMul", "", None).unwrap();
    let expected = floats(&product.run_one(&[&x, &w], None).unwrap());
    for memory in [None, Some(LoadMemory::pool(&rig.pool))] {
        let packed = product.pack(1, &w, memory.as_ref(), None).unwrap();
        assert!(packed.description().is_packed);
        assert_eq!(
            floats(&product.run_one(&[&x, &packed], None).unwrap()),
            expected
        );
        assert_eq!(kind(packed.to_vec::<f32>(None)), ErrorKind::Unsupported);
    }
    assert_eq!(
        kind(product.pack(7, &w, None, None)),
        ErrorKind::InvalidArgument
    );
    let sum = rig.compute.prepare("Add", "", None).unwrap();
    assert_eq!(kind(sum.pack(1, &w, None, None)), ErrorKind::Unsupported);
}

fn sequenced(_: &Library, rig: &Rig) {
    let sequence = rig.compute.create_sequence().unwrap();
    let own = rig.device.create_pool(&PoolConfig::default()).unwrap();
    let x = Tensor::create(&LoadMemory::pool(&own), DType::F32, &[4], None).unwrap();
    x.write(&[1.0f32, 2.0, 3.0, 4.0], None).unwrap();
    let prepare = |name| rig.compute.prepare(name, "", None).unwrap();
    let (add, mul) = (prepare("Add"), prepare("Mul"));
    let twice = sequence
        .add(&add, &[Some(&x), Some(&x)], &[OpOutput::New])
        .unwrap();
    let twice = twice.into_iter().flatten().next().unwrap();
    let made = sequence
        .add(&mul, &[Some(&twice), Some(&x)], &[OpOutput::New])
        .unwrap();
    let made = made.into_iter().flatten().next().unwrap();
    sequence.run(None).unwrap();
    assert_eq!(floats(&made), [2.0, 8.0, 18.0, 32.0]);
    x.fill(3.0, None).unwrap();
    sequence.run(None).unwrap();
    assert_eq!(floats(&made), [18.0; 4]);
    let odd = of(rig, &[1.0; 3], &[3]);
    let wrong = sequence.add(&add, &[Some(&x), Some(&odd)], &[OpOutput::New]);
    assert_eq!(kind(wrong), ErrorKind::InvalidArgument);
    // The sequence keeps its operations, its tensors and their pool.
    drop((own, x, twice, add, mul));
    sequence.run(None).unwrap();
    assert_eq!(floats(&made), [18.0; 4]);
    let other = Compute::open(&rig.device, &Default::default()).unwrap();
    let foreign = other.prepare("Add", "", None).unwrap();
    let wrong = sequence.add(&foreign, &[Some(&odd), Some(&odd)], &[OpOutput::New]);
    assert_eq!(kind(wrong), ErrorKind::InvalidArgument);
    sequence.close().unwrap();
}

/// Work is ordered by stream: behind other work an operation is queued.
fn ordered(_: &Library, rig: &Rig) {
    let stream = rig.device.create_stream().unwrap();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    stream.call(move || gate.recv().unwrap()).unwrap();
    let x = of(rig, &[1.0, 2.0], &[2]);
    let add = rig.compute.prepare("Add", "", None).unwrap();
    x.fill(5.0, Some(&stream)).unwrap();
    let made = add.run_one(&[&x, &x], Some(&stream)).unwrap();
    let sequence = rig.compute.create_sequence().unwrap();
    let to = of(rig, &[0.0; 2], &[2]);
    sequence
        .add(&add, &[Some(&made), Some(&x)], &[OpOutput::To(&to)])
        .unwrap();
    sequence.run(Some(&stream)).unwrap();
    let busy = sequence.close().unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy);
    drop((x, add));
    open.send(()).unwrap();
    // The drop of the sequence waits for its run.
    drop(busy);
    assert_eq!(made.to_vec::<f32>(Some(&stream)).unwrap(), [10.0; 2]);
    assert_eq!(to.to_vec::<f32>(Some(&stream)).unwrap(), [15.0; 2]);
}

fn handles(_: &Library, rig: &Rig) {
    let compute = Compute::open(&rig.device, &Default::default()).unwrap();
    let add = compute.prepare("Add", "", None).unwrap();
    let (op, sequence) = (
        add.into_raw(),
        compute.create_sequence().unwrap().into_raw(),
    );
    // SAFETY: the handles are of the operation and the sequence above.
    let (add, sequence) = unsafe {
        (
            Op::from_raw(&compute, op),
            Sequence::from_raw(&compute, sequence),
        )
    };
    let x = of(rig, &[2.0], &[1]);
    let made = sequence
        .add(&add, &[Some(&x), Some(&x)], &[OpOutput::New])
        .unwrap();
    sequence.run(None).unwrap();
    assert_eq!(floats(made[0].as_ref().unwrap()), [4.0]);
    add.close().unwrap();
    sequence.close().unwrap();
    drop(made);
    let raw = compute.into_raw().unwrap();
    // SAFETY: the handle is of the backend above.
    let again = unsafe { Compute::from_raw(&rig.device, raw) };
    assert_eq!(again.device().raw(), rig.device.raw());
    // Operations run on several threads at a time.
    let add = again.prepare("Add", "", None).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(floats(&add.run_one(&[&x, &x], None).unwrap()), [4.0]));
        }
    });
    drop(add);
    again.close().unwrap();
}
