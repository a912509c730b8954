//! Compute backends of the program: registration, calls, errors, panics and ends.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{mpsc, Arc, Mutex};

use ferrum_mem::{
    leak_report_json, Compute, ComputeCall, ComputeConfig, ComputePlan, ComputeType, DType, Device,
    ErrorKind, Library, OpOutput, ProgramBackend, ProgramFailure, Tensor,
};

type Outcome<T> = Result<T, ProgramFailure>;
type Act = Box<dyn Fn(&ComputeCall<'_>) -> Outcome<()> + Send>;

/// What a backend has seen, and what it does before it computes.
#[derive(Default)]
struct Seen {
    plans: AtomicU32,
    runs: AtomicU32,
    synchronized: AtomicU32,
    dropped: AtomicU32,
    calls: Mutex<Vec<String>>,
    act: Mutex<Option<Act>>,
}

impl Seen {
    fn set(&self, act: impl Fn(&ComputeCall<'_>) -> Outcome<()> + Send + 'static) {
        *self.act.lock().unwrap_or_else(|it| it.into_inner()) = Some(Box::new(act));
    }

    fn count(of: &AtomicU32) -> u32 {
        of.load(Ordering::SeqCst)
    }
}

/// Adds its inputs.
struct Adder(Arc<Seen>);

impl Drop for Adder {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl ProgramBackend for Adder {
    fn version(&self) -> String {
        "3".to_owned()
    }

    fn plan(&self, call: &ComputeCall<'_>) -> Outcome<ComputePlan> {
        self.0.plans.fetch_add(1, Ordering::SeqCst);
        let early = call.input(0)?.read::<f32>().unwrap_err();
        assert_eq!(early.kind, ErrorKind::InvalidState);
        match call.name() {
            "Sub" => Err(ProgramFailure::new(ErrorKind::Unsupported, "no difference")),
            "Mul" => panic!("provoked"),
            _ => Ok(ComputePlan {
                workspace_bytes: 100,
                in_place: true,
            }),
        }
    }

    fn run(&self, call: &ComputeCall<'_>) -> Outcome<()> {
        self.0.runs.fetch_add(1, Ordering::SeqCst);
        self.0.calls.lock().unwrap().push(format!("{call:?}"));
        let (workspace, size) = call.workspace();
        assert!(size == 100 && workspace != 0 && workspace % 64 == 0);
        if let Some(act) = &*self.0.act.lock().unwrap_or_else(|it| it.into_inner()) {
            act(call)?;
        }
        let mut sum = call.input(0)?.read::<f32>()?;
        for other in call.inputs().into_iter().skip(1).flatten() {
            for (to, from) in sum.iter_mut().zip(other.read::<f32>()?) {
                *to += from;
            }
        }
        call.output(0)?.write(&sum)
    }

    fn synchronize(&self) -> Outcome<()> {
        self.0.synchronized.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

const PROPERTIES: &str = r#"{"supported_devices": ["cpu:0"], "supported_dtypes": ["f32"]}"#;

struct Rig {
    device: Device,
    seen: Arc<Seen>,
    compute: Compute,
    x: Tensor,
}

// One test function, because the tests of a process share one library and see its objects.
#[test]
fn program_backends() {
    let library = Library::start().unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    let seen = Arc::new(Seen::default());
    let made = library
        .register_compute("adder", PROPERTIES, Adder(seen.clone()))
        .unwrap();
    let compute = made.open(&device, &ComputeConfig::default()).unwrap();
    let x = Tensor::from_vec(&device, vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
    let rig = Rig {
        device,
        seen,
        compute,
        x,
    };
    for test in [computes, listed, fails, called_inside, queued, refused] {
        test(&library, &rig);
        *rig.seen.act.lock().unwrap_or_else(|it| it.into_inner()) = None;
    }
    // It cannot end while it is open.
    let busy = made.close().unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy);
    let made = busy.object;
    let Rig {
        device,
        seen,
        compute,
        x,
    } = rig;
    x.close().unwrap();
    compute.close().unwrap();
    assert_eq!(Seen::count(&seen.dropped), 0);
    made.close().unwrap();
    assert_eq!(Seen::count(&seen.dropped), 1);
    ends_with_the_last_user(&library, &device);
    device.close().unwrap();
    library.close().unwrap();
    let left = leak_report_json().unwrap();
    assert!(!left.contains("\"kind\""), "{left}");
}

fn computes(_: &Library, rig: &Rig) {
    let add = rig.compute.prepare("Add", "", None).unwrap();
    let sum = add.run_one(&[&rig.x, &rig.x], None).unwrap();
    let twice = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0];
    assert_eq!(sum.to_vec::<f32>(None).unwrap(), twice);
    let turned = rig.x.permute(&[1, 0]).unwrap();
    let sum = add.run_one(&[&turned, &turned], None).unwrap();
    assert_eq!(
        sum.to_vec::<f32>(None).unwrap(),
        [2.0, 8.0, 4.0, 10.0, 6.0, 12.0]
    );
    // In place, with a kept plan.
    let own = Tensor::from_vec(&rig.device, vec![1.0f32; 6], &[2, 3]).unwrap();
    add.run(&[Some(&own), Some(&own)], &[OpOutput::To(&own)], None)
        .unwrap();
    assert_eq!(own.to_vec::<f32>(None).unwrap(), [2.0; 6]);
    assert_eq!(Seen::count(&rig.seen.plans), 2);
    assert_eq!(Seen::count(&rig.seen.runs), 3);
    rig.seen.set(|call| {
        assert_eq!((call.domain(), call.opset() > 0), ("", true));
        assert_eq!(call.attributes_json(), r#"{"axis":-1}"#);
        let (x, y) = (call.input(0)?, call.output(0)?);
        assert_eq!(
            (x.dtype(), x.shape(), x.strides()),
            (DType::F32, &[2, 3][..], &[3, 1][..])
        );
        assert!(x.is_contiguous() && x.size_bytes() == 24 && x.address() != y.address());
        assert_eq!(format!("{x:?}"), "f32[2, 3]");
        let kind = |it: Outcome<()>| it.unwrap_err().kind;
        assert_eq!(kind(x.write(&[0.0f32; 6])), ErrorKind::PermissionDenied);
        assert_eq!(kind(y.write(&[0.0f32; 5])), ErrorKind::InvalidSize);
        assert_eq!(kind(y.write(&[0i64; 6])), ErrorKind::InvalidArgument);
        assert_eq!(call.input(1).unwrap_err().kind, ErrorKind::InvalidArgument);
        Ok(())
    });
    let softmax = rig.compute.prepare("Softmax", "", None).unwrap();
    let copy = softmax.run_one(&[&rig.x], None).unwrap();
    assert_eq!(
        copy.to_vec::<f32>(None).unwrap(),
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    );
    rig.compute.synchronize(None).unwrap();
    assert_eq!(Seen::count(&rig.seen.synchronized), 1);
    assert!(rig.seen.calls.lock().unwrap()[0].contains("Add"));
}

fn listed(library: &Library, rig: &Rig) {
    let list = library.compute_backends_json().unwrap();
    assert!(
        list.contains(r#""name":"adder","backend_type":"custom","available":true,"version":"3""#)
    );
    let found = library
        .find_compute_json(r#"{"required_dtypes": ["f32"]}"#)
        .unwrap();
    assert!(found.contains(r#""name":"adder""#), "{found}");
    assert!(rig
        .compute
        .capabilities_json()
        .unwrap()
        .contains(r#"["f32"]"#));
    let before = rig.compute.statistics().unwrap().live_blocks.current;
    let add = rig.compute.prepare("Add", "", None).unwrap();
    let sum = add.run_one(&[&rig.x, &rig.x], None).unwrap();
    assert_eq!(
        rig.compute.statistics().unwrap().live_blocks.current,
        before + 1
    );
    drop(sum);
    assert_ne!(rig.compute.raw_manager().unwrap().id, 0);
}

fn fails(_: &Library, rig: &Rig) {
    let run = |name: &str| {
        let op = rig.compute.prepare(name, "", None).unwrap();
        op.run_one(&[&rig.x, &rig.x], None).unwrap_err()
    };
    let error = run("Sub");
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(
        error.message.contains(r#"backend "adder": plan of Sub: "#),
        "{error}"
    );
    assert!(error.message.contains("no difference"), "{error}");
    let error = run("Mul");
    assert_eq!(error.kind, ErrorKind::Internal);
    assert!(error.message.contains("it panicked"), "{error}");
    rig.seen
        .set(|_| Err(ProgramFailure::new(ErrorKind::DeviceLost, "é".repeat(400))));
    let error = run("Add");
    assert_eq!(error.kind, ErrorKind::DeviceLost);
    assert!(error.message.contains(&"é".repeat(127)), "{error}");
    rig.seen.set(|_| panic!("provoked"));
    let error = run("Add");
    assert_eq!(error.kind, ErrorKind::Internal);
    assert!(error.message.contains("run of Add"), "{error}");
    // Statuses that are none.
    for kind in [
        ErrorKind::Other(7),
        ErrorKind::Other(-999),
        ErrorKind::Other(0),
    ] {
        rig.seen.set(move |_| Err(ProgramFailure::new(kind, "odd")));
        assert_eq!(run("Add").kind, ErrorKind::Internal);
    }
}

fn called_inside(library: &Library, rig: &Rig) {
    let (compute, library, x) = (rig.compute.clone(), library.clone(), rig.x.raw());
    let inner = compute.prepare("Add", "", None).unwrap();
    rig.seen.set(move |_| {
        let kind = compute.synchronize(None).unwrap_err().kind;
        assert_eq!(kind, ErrorKind::InvalidState);
        // A clone of it exists.
        let rejected = compute.clone().close().unwrap_err();
        assert_eq!(rejected.kind(), ErrorKind::Busy);
        let mut out = [Default::default()];
        // SAFETY: the lists have the lengths that are passed.
        let status = unsafe {
            ferrum_mem::sys::ferrum_op_run(
                inner.raw(),
                [x, x].as_ptr(),
                2,
                out.as_mut_ptr(),
                1,
                Default::default(),
            )
        };
        assert_eq!(status, ferrum_mem::sys::FERRUM_ERROR_INVALID_STATE);
        let other = Adder(Arc::default());
        let made = library.register_compute("inner", PROPERTIES, other)?;
        made.close()
            .map_err(|it| ProgramFailure::new(it.kind(), "not closed"))
    });
    let add = rig.compute.prepare("Add", "", None).unwrap();
    drop(add.run_one(&[&rig.x, &rig.x], None).unwrap());
}

fn queued(_: &Library, rig: &Rig) {
    let stream = rig.device.create_stream().unwrap();
    let (open, gate) = mpsc::channel::<()>();
    stream.call(move || gate.recv().unwrap()).unwrap();
    let add = rig.compute.prepare("Add", "", None).unwrap();
    let sum = add.run_one(&[&rig.x, &rig.x], Some(&stream)).unwrap();
    open.send(()).unwrap();
    assert_eq!(sum.to_vec::<f32>(Some(&stream)).unwrap()[5], 12.0);
    let (open, gate) = mpsc::channel::<()>();
    stream.call(move || gate.recv().unwrap()).unwrap();
    rig.seen.set(|_| panic!("provoked"));
    drop(add.run_one(&[&rig.x, &rig.x], Some(&stream)).unwrap());
    open.send(()).unwrap();
    let error = stream.synchronize(None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal);
    assert!(error.message.contains("it panicked"), "{error}");
}

fn refused(library: &Library, rig: &Rig) {
    let cases = [
        ("adder", PROPERTIES, ErrorKind::AlreadyExists),
        ("cpu", PROPERTIES, ErrorKind::AlreadyExists),
        ("a b", PROPERTIES, ErrorKind::InvalidArgument),
        ("nul\0", PROPERTIES, ErrorKind::InvalidArgument),
        ("mine", "{}", ErrorKind::InvalidConfig),
        ("mine", "", ErrorKind::InvalidFormat),
        ("mine", r#"{"speed": 1}"#, ErrorKind::InvalidFormat),
    ];
    for (name, properties, kind) in cases {
        let seen = Arc::new(Seen::default());
        let made = library.register_compute(name, properties, Adder(seen.clone()));
        let error = made.unwrap_err();
        assert!(
            error.kind == kind || name == "mine" && properties.is_empty(),
            "{name}: {error}"
        );
        assert_eq!(Seen::count(&seen.dropped), 1);
    }
    let config = ComputeConfig {
        compute_type: ComputeType::Custom,
        name: Some("nobody".to_owned()),
        ..Default::default()
    };
    let error = Compute::open(&rig.device, &config).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

/// The registration lives as long as the backends that it has opened.
fn ends_with_the_last_user(library: &Library, device: &Device) {
    let seen = Arc::new(Seen::default());
    let made = library
        .register_compute("late", PROPERTIES, Adder(seen.clone()))
        .unwrap();
    assert_eq!(made.name(), "late");
    let compute = made.open(device, &ComputeConfig::default()).unwrap();
    drop(made);
    let x = Tensor::from_vec(device, vec![1.0f32], &[1]).unwrap();
    let add = compute.prepare("Add", "", None).unwrap();
    let sum = add.run_one(&[&x, &x], None).unwrap();
    drop((compute, add));
    assert_eq!(Seen::count(&seen.dropped), 0);
    assert_eq!(sum.to_vec::<f32>(None).unwrap(), [2.0]);
    drop(sum);
    assert_eq!(Seen::count(&seen.dropped), 1);
}
