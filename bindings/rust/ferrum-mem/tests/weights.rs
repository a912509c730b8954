//! Weights: files written here are opened, described, loaded into every kind of memory, mapped,
//! preloaded, verified and converted; cancel, and errors.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ferrum_mem::{
    leak_report_json, Config, ConvertRequest, DType, Device, ElasticPoolConfig, ErrorKind, Library,
    LoadMemory, LoadRequest, ModelConfig, Order, PoolConfig, Result, Selection, TensorOrder,
    TensorSet, Transformation, VirtualPoolConfig, Weights, WeightsFormat, WeightsSource,
};

const MIB: u64 = 1 << 20;

/// A file of safetensors: "a" of 2 x 3 and "b" of 4 floats, "c" of two 16-bit integers.
fn safetensors() -> Vec<u8> {
    let header = concat!(
        r#"{"__metadata__":{"made":"here"},"#,
        r#""a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"#,
        r#""b":{"dtype":"F32","shape":[4],"data_offsets":[24,40]},"#,
        r#""c":{"dtype":"I16","shape":[2],"data_offsets":[40,44]}}"#
    );
    let header = format!("{header:<width$}", width = header.len().next_multiple_of(8));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    for number in 0..10 {
        file.extend((number as f32).to_le_bytes());
    }
    file.extend([7, 0, 0xff, 0xff]);
    file
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("ferrum-mem-rust-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

// One test function, because the tests of a process share one library and see its objects.
#[test]
fn weights() {
    let library = Library::start_with(&Config {
        host_memory_bytes: Some(256 * MIB),
        ..Default::default()
    })
    .unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    let folder = Folder::new();
    let path = folder.file("plain.safetensors", &safetensors());
    described(&library, &path);
    into_memories(&library, &device, &path);
    ordered(&library, &device);
    mapped(&library, &path);
    cancelled(&library, &device, &folder);
    verified_and_converted(&library, &folder, &path);
    bad_input(&library, &device, &folder);
    device.close().unwrap();
    library.close().unwrap();
    let left = leak_report_json().unwrap();
    assert!(!left.contains("\"kind\""), "{left}");
}

fn described(library: &Library, path: &Path) {
    let weights = Weights::open(library, path).unwrap();
    let metadata = weights.metadata().unwrap();
    assert_eq!(metadata.format, "safetensors");
    assert_eq!(metadata.total_size_bytes, 44);
    assert_eq!(metadata.dtypes, [DType::F32, DType::I16]);
    assert_eq!(metadata.texts["made"], "here");
    assert_eq!(metadata.files, [path.to_str().unwrap()]);
    let names: Vec<_> = metadata.tensors.keys().map(String::as_str).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let a = &metadata.tensors["a"];
    assert_eq!(
        (a.shape.as_slice(), a.dtype),
        ([2, 3].as_slice(), DType::F32)
    );
    assert_eq!((a.stored_as.as_str(), a.file, a.elements), ("F32", 0, 6));
    assert_eq!((a.size_bytes, a.is_compressed), (24, false));
    let found = weights.find("a").unwrap().unwrap();
    assert_eq!((found.dtype, found.size_bytes), (DType::F32, 24));
    assert_eq!(
        (found.shape.as_slice(), found.is_compressed),
        ([2, 3].as_slice(), false)
    );
    assert_eq!(weights.find("d").unwrap(), None);
    let able = Weights::capabilities(library).unwrap();
    assert!(able.supported_formats.contains(&metadata.format));
    assert!(able.supports_streaming && able.supports_concurrent);
    assert!(able.max_tensor_size > 1 << 40);
    assert!(able.supported_transformations.contains(&"slice".to_owned()));
    weights.close().unwrap();
}

/// The elements of the floats of a set.
fn floats(set: &TensorSet, name: &str) -> Vec<f32> {
    let tensor = set.get(name).unwrap().unwrap();
    // SAFETY: nothing else uses the memory of the test.
    unsafe { tensor.as_slice::<f32>() }.unwrap().to_vec()
}

fn into_memories(library: &Library, device: &Device, path: &Path) {
    let weights = Weights::open(library, path).unwrap();
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let space = VirtualPoolConfig {
        capacity_bytes: 16 * MIB,
        ..Default::default()
    };
    let ranges = device.create_virtual_pool(&space).unwrap();
    let elastic = device
        .create_elastic_pool(&ElasticPoolConfig::default())
        .unwrap();
    let config = ModelConfig {
        virtual_bytes: 16 * MIB,
        ..Default::default()
    };
    let model = elastic.register_model("chat", &config).unwrap();
    for memory in [
        LoadMemory::pool(&pool),
        LoadMemory::virtual_pool(&ranges, 0).tag("weights"),
        LoadMemory::model(&model),
    ] {
        let set = weights.load(&LoadRequest::to(memory)).unwrap();
        set.wait(None).unwrap();
        let progress = set.progress().unwrap();
        assert_eq!((progress.is_over, progress.done_bytes), (true, 44));
        assert_eq!(progress.total_bytes, Some(44));
        let names: Vec<_> = set.iter().unwrap().map(|t| t.name().to_owned()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(floats(&set, "a"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let c = set.get("c").unwrap().unwrap();
        // SAFETY: nothing else uses the memory of the test.
        assert_eq!(unsafe { c.as_slice::<i16>() }.unwrap(), [7, -1]);
        assert_eq!((c.shape(), c.device()), ([2].as_slice(), Some("cpu:0")));
        assert_eq!((c.size_bytes(), c.is_tied()), (4, false));
        // SAFETY: as above.
        let error = unsafe { c.as_slice::<f32>() }.unwrap_err();
        assert!(error.message.contains("the type i16, not f32"), "{error}");
        assert!(set.get("d").unwrap().is_none());
        assert_eq!(set.tensor(3).unwrap_err().kind, ErrorKind::InvalidArgument);
        // The pool cannot be closed before the set, whose handle can be passed on.
        let raw = set.into_raw();
        let held = pool.statistics().unwrap().live_blocks.current;
        let used = held + ranges.info().unwrap().allocations + model.info().unwrap().allocations;
        assert!(used > 0);
        // SAFETY: the handle is of the set above.
        let set = unsafe { TensorSet::from_raw(library, raw) };
        set.close().unwrap();
    }
    let set = weights
        .load(&LoadRequest::to(LoadMemory::pool(&pool)))
        .unwrap();
    // The source may end before its sets.
    drop(weights);
    let _ = set.wait(None);
    let pool = pool.close().unwrap_err().object;
    drop(set);
    pool.close().unwrap();
    ranges.close().unwrap();
    model.close().unwrap();
    elastic.close().unwrap();
}

fn ordered(library: &Library, device: &Device) {
    let source = WeightsSource::memory("in memory", safetensors());
    Weights::check(library, &source).unwrap();
    let weights = Weights::open_source(library, &source).unwrap();
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let mut room = [0f32; 4];
    // SAFETY: the room belongs to the host and is not used before the load has ended.
    let into = unsafe { TensorOrder::new("b").at(room.as_mut_ptr() as u64, 16) };
    let request = LoadRequest {
        memories: vec![LoadMemory::pool(&pool), LoadMemory::caller(device)],
        order: Order::Listed(vec![
            TensorOrder::new("a")
                .named("turned")
                .with(Transformation::Transpose { dim0: 0, dim1: 1 })
                .with(Transformation::Scale { factor: 2.0 })
                .shaped([2, 3]),
            TensorOrder::new("a")
                .named("part")
                .typed(DType::F64)
                .with(Transformation::Cast { dtype: DType::F64 })
                .with(Transformation::Slice {
                    dim: 1,
                    start: Some(2),
                    end: None,
                }),
            into.memory(1),
        ]),
        threads: Some(1),
        ..Default::default()
    };
    let set = weights.load(&request).unwrap();
    set.wait(None).unwrap();
    assert_eq!(floats(&set, "turned"), [0.0, 6.0, 2.0, 8.0, 4.0, 10.0]);
    let part = set.get("part").unwrap().unwrap();
    // SAFETY: nothing else uses the memory of the test.
    assert_eq!(unsafe { part.as_slice::<f64>() }.unwrap(), [2.0, 5.0]);
    let b = set.get("b").unwrap().unwrap();
    assert_eq!(b.address(), Some(room.as_ptr() as u64));
    assert_eq!(room, [6.0, 7.0, 8.0, 9.0]);
    set.close().unwrap();
    let request = LoadRequest {
        order: Order::Chosen(Selection {
            include: vec!["[ab]".into()],
            exclude: vec!["b".into()],
            rename: vec![("a".into(), "x".into())],
            prefix: Some("model.".into()),
            float_dtype: Some(DType::F64),
            ..Default::default()
        }),
        ..LoadRequest::to(LoadMemory::pool(&pool))
    };
    let set = weights.load(&request).unwrap();
    set.wait(None).unwrap();
    let tensors: Vec<_> = set.iter().unwrap().collect();
    assert_eq!((tensors.len(), tensors[0].name()), (1, "model.x"));
    assert_eq!(tensors[0].dtype(), DType::F64);
    set.close().unwrap();
    pool.close().unwrap();
    weights.close().unwrap();
}

fn mapped(library: &Library, path: &Path) {
    let weights = Weights::open(library, path).unwrap();
    let set = weights.map(Order::All).unwrap();
    set.check().unwrap();
    assert_eq!(floats(&set, "b"), [6.0, 7.0, 8.0, 9.0]);
    drop(set);
    let warm = weights.preload(Order::All).unwrap();
    warm.wait(None).unwrap();
    assert_eq!(warm.iter().unwrap().count(), 0);
    drop(warm);
    weights.close().unwrap();
}

fn cancelled(library: &Library, device: &Device, folder: &Folder) {
    let path = folder.file("zeros", &vec![0; 32 << 20]);
    let source = WeightsSource::file(path).raw(DType::U8, [32 * MIB]);
    let weights = Weights::open_source(library, &source).unwrap();
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let request = LoadRequest::to(LoadMemory::pool(&pool));
    let calls = Arc::new(AtomicUsize::new(0));
    let told = calls.clone();
    let set = weights
        .load_with(&request, move |_| {
            told.fetch_add(1, Ordering::SeqCst);
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(set.wait(None).unwrap_err().kind, ErrorKind::Cancelled);
    assert_eq!(set.get("zeros").unwrap_err().kind, ErrorKind::Cancelled);
    assert!(calls.load(Ordering::SeqCst) >= 1);
    drop(set);
    assert_eq!(Arc::strong_count(&calls), 1, "the closure has ended");
    // A panic cancels too, and a cancelled load leaves nothing.
    let set = weights.load_with(&request, |_| panic!("provoked")).unwrap();
    assert_eq!(set.wait(None).unwrap_err().kind, ErrorKind::Cancelled);
    drop(set);
    // The closure itself drops the set.
    let place = Arc::new(Mutex::new(None));
    let (own, told) = (place.clone(), calls.clone());
    let mut locked = place.lock().unwrap();
    let set = weights
        .load_with(&request, move |_| {
            drop(own.lock().unwrap().take());
            let _ = &told;
            ControlFlow::Continue(())
        })
        .unwrap();
    *locked = Some(set);
    drop(locked);
    let end = Instant::now() + Duration::from_secs(60);
    while Arc::strong_count(&calls) > 1 {
        assert!(Instant::now() < end, "the set was never freed");
        std::thread::sleep(Duration::from_millis(1));
    }
    // Memory that is too small: an error, and nothing is left.
    let small = device
        .create_pool(&PoolConfig {
            initial_size_bytes: Some(MIB),
            max_size_bytes: Some(8 * MIB),
            ..Default::default()
        })
        .unwrap();
    let set = weights
        .load(&LoadRequest::to(LoadMemory::pool(&small)))
        .unwrap();
    assert_eq!(set.wait(None).unwrap_err().kind, ErrorKind::OutOfMemory);
    assert_eq!(small.statistics().unwrap().live_blocks.current, 0);
    drop(set);
    small.close().unwrap();
    // A drop cancels.
    drop(weights.load(&request).unwrap());
    assert_eq!(pool.statistics().unwrap().live_blocks.current, 0);
    let mut seen = 0;
    let set = weights
        .verify(None, |progress| {
            seen = progress.done_bytes;
            ControlFlow::Break(())
        })
        .unwrap_err();
    assert_eq!(set.kind, ErrorKind::Cancelled);
    pool.close().unwrap();
    weights.close().unwrap();
}

fn verified_and_converted(library: &Library, folder: &Folder, path: &Path) {
    let go_on = |_: &_| ControlFlow::Continue(());
    let weights = Weights::open(library, path).unwrap();
    let sums = weights.verify(None, go_on).unwrap();
    assert_eq!((sums.len(), sums[0].sha256.len()), (1, 64));
    let line = format!("{}  plain.safetensors\n", sums[0].sha256);
    assert_eq!(weights.verify(Some(&line), go_on).unwrap(), sums);
    let line = format!("{}  plain.safetensors\n", "0".repeat(64));
    let error = weights.verify(Some(&line), go_on).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupted);
    let output = folder.0.join("half.safetensors");
    let request = ConvertRequest {
        order: Order::Chosen(Selection {
            float_dtype: Some(DType::F16),
            ..Default::default()
        }),
        texts: [("by".to_owned(), "rust".to_owned())].into(),
        ..Default::default()
    };
    weights.convert(&output, &request, go_on).unwrap();
    let error = weights.convert(&output, &request, go_on).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AlreadyExists);
    let request = ConvertRequest {
        replace: true,
        ..request
    };
    weights.convert(&output, &request, go_on).unwrap();
    let half = Weights::open(library, &output).unwrap();
    let metadata = half.metadata().unwrap();
    assert_eq!(metadata.tensors["a"].dtype, DType::F16);
    assert_eq!(metadata.texts["by"], "rust");
    half.close().unwrap();
    weights.close().unwrap();
}

fn bad_input(library: &Library, device: &Device, folder: &Folder) {
    let kind = |result: Result<Weights>| result.unwrap_err().kind;
    let missing = folder.0.join("missing");
    assert_eq!(kind(Weights::open(library, &missing)), ErrorKind::NotFound);
    let odd = folder.file("odd.safetensors", b"neither one thing nor the other");
    assert!(Weights::open(library, &odd).is_err());
    let source = WeightsSource::memory("plain", safetensors()).format(WeightsFormat::Gguf);
    assert_eq!(
        kind(Weights::open_source(library, &source)),
        ErrorKind::InvalidArgument
    );
    let source = WeightsSource::memory("many", vec![0; 4]).raw(DType::U8, [1; 17]);
    let error = Weights::open_source(library, &source).unwrap_err();
    assert!(error.message.contains("17 dimensions"), "{error}");
    let name = WeightsSource::memory("a\0b", safetensors());
    assert_eq!(
        kind(Weights::open_source(library, &name)),
        ErrorKind::InvalidArgument
    );
    let source = WeightsSource::memory("plain", safetensors());
    let weights = Weights::open_source(library, &source).unwrap();
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let request = LoadRequest {
        order: Order::Listed(vec![TensorOrder::new("d")]),
        ..LoadRequest::to(LoadMemory::pool(&pool))
    };
    assert_eq!(
        weights.load(&request).unwrap_err().kind,
        ErrorKind::NotFound
    );
    let none = weights.load(&LoadRequest::default()).unwrap_err();
    assert_eq!(none.kind, ErrorKind::InvalidArgument);
    pool.close().unwrap();
    weights.close().unwrap();
}
