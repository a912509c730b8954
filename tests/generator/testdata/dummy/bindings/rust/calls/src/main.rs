//! Calls every function of the dummy family, with valid and invalid arguments.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::Duration;

use ferrum_mem::{
    Device, Dummy, DummyConfig, DummyExtent, DummyItem, DummyOrder, DummyTraitFlags, Error,
    ErrorKind, Library, Result,
};

fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind
}

fn item(name: &str, size_bytes: u64) -> DummyItem {
    DummyItem {
        name: name.to_owned(),
        extent: DummyExtent {
            offset_bytes: 4096,
            size_bytes,
        },
        rank: -7,
    }
}

fn lists(library: &Library) -> Result<()> {
    let room = DummyExtent {
        offset_bytes: 4096,
        size_bytes: 8192,
    };
    let config = DummyConfig {
        name: Some("list".to_owned()),
        room,
        flags: DummyTraitFlags::UNIQUE,
        ..Default::default()
    };
    let dummy = Dummy::create(library, &config)?;
    let info = dummy.info()?;
    assert_eq!(
        (info.name.as_str(), info.room, info.is_empty),
        ("list", room, true)
    );
    assert_eq!(info.flags, DummyTraitFlags::UNIQUE);

    let items = [item("b", 200), item("a", 100)];
    dummy.add(&items)?;
    assert_eq!(dummy.items()?, items);
    assert_eq!(kind(dummy.add(&items)), ErrorKind::AlreadyExists);
    assert_eq!(
        kind(dummy.add(&[item(&"n".repeat(32), 1)])),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        kind(dummy.add(&[item("far", 1 << 40)])),
        ErrorKind::InvalidOffset
    );
    assert_eq!(dummy.find("a")?, (1, items[1].clone()));
    assert_eq!(kind(dummy.find("z")), ErrorKind::NotFound);
    dummy.add_json(r#"[{"name": "c", "offset_bytes": 4096, "size_bytes": 1}]"#)?;
    assert_eq!(kind(dummy.add_json("{")), ErrorKind::InvalidFormat);
    assert_eq!(dummy.names_json()?, r#"["b","a","c"]"#);

    let missing: Error = dummy.remove(&["a", "z"]).unwrap_err();
    assert!(missing.kind == ErrorKind::NotFound && missing.message.contains("names[1]"));
    assert_eq!(kind(dummy.remove(&["a\0"])), ErrorKind::InvalidArgument);
    assert_eq!(dummy.remove(&[])?, 0);
    assert_eq!(dummy.remove(&["a", "c"])?, 2);
    dummy.set_traits(DummyTraitFlags::CLOSED)?;
    assert_eq!(dummy.info()?.flags, DummyTraitFlags::CLOSED);
    Ok(())
}

fn releases(library: &Library) -> Result<()> {
    let released = Arc::new(AtomicU32::new(0));
    let noting = || {
        let released = Arc::clone(&released);
        move || {
            released.fetch_add(1, Ordering::Relaxed);
        }
    };
    let dummy = Dummy::create(library, &DummyConfig::default())?;
    dummy.adopt(noting())?;
    dummy.adopt(noting())?;
    dummy.set_traits(DummyTraitFlags::CLOSED)?;
    assert_eq!(kind(dummy.adopt(noting())), ErrorKind::InvalidState);
    // The failed call has dropped its closure.
    assert_eq!(Arc::strong_count(&released), 3);
    assert_eq!(released.load(Ordering::Relaxed), 0);
    drop(dummy);
    assert_eq!(released.load(Ordering::Relaxed), 2);
    assert_eq!(Arc::strong_count(&released), 1);
    Ok(())
}

fn jobs(library: &Library) -> Result<()> {
    let dummy = Dummy::create(library, &DummyConfig::default())?;
    dummy.add(&[item("b", 200), item("a", 100)])?;
    dummy.hold(true)?;
    let job = dummy.sort(DummyOrder::Size)?;
    let progress = job.progress()?;
    assert_eq!(
        (progress.done, progress.total, progress.is_over),
        (0, 2, false)
    );
    assert_eq!(kind(job.wait(Some(Duration::ZERO))), ErrorKind::Timeout);
    assert_eq!(kind(job.result()), ErrorKind::InvalidState);
    assert_eq!(kind(dummy.sort(DummyOrder::Size)), ErrorKind::Busy);
    dummy.hold(false)?;
    job.wait(None)?;
    assert_eq!(job.result()?.moved, 2);
    drop(job);
    assert_eq!(dummy.names_json()?, r#"["a","b"]"#);
    dummy.hold(true)?;
    let second = dummy.sort(DummyOrder::Given)?;
    second.cancel()?;
    second.wait(None)?;
    assert_eq!(kind(second.result()), ErrorKind::Cancelled);
    Ok(())
}

fn main() -> Result<()> {
    let library = Library::start()?;
    lists(&library)?;
    releases(&library)?;
    jobs(&library)?;
    let pool = Device::open(&library, "cpu:0")?.create_pool(&Default::default())?;
    let _block = pool.alloc(1000, None)?;
    assert!(pool.kept_bytes()? >= 1000);
    Ok(())
}
