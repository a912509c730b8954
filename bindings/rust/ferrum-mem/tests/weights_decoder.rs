//! A decoder of a format of the program.

use std::path::PathBuf;

use ferrum_mem::{
    leak_report_json, DType, DecodedFile, DescribedTensor, Description, Device, Error, ErrorKind,
    Library, LoadMemory, LoadRequest, PoolConfig, Result, Weights, WeightsDecoder, WeightsSource,
};

/// A file in the folder for temporary files, which is removed.
struct File(PathBuf);

impl File {
    fn with(bytes: &[u8]) -> Self {
        let name = format!("ferrum-mem-rust-{}-letters", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A format of this test: four letters, then one byte for each element.
struct Letters;

impl WeightsDecoder for Letters {
    fn recognises(&self, start: &[u8], file_bytes: u64) -> bool {
        start.starts_with(b"LTRS") && file_bytes > 4
    }

    fn decode(&self, file: &DecodedFile<'_>) -> Result<Description> {
        let mut first = [0];
        file.read_at(4, &mut first)?;
        assert!(file.name().ends_with("letters"));
        let beyond: Error = file.read_at(file.size_bytes(), &mut first).unwrap_err();
        assert_eq!(beyond.kind, ErrorKind::InvalidSize);
        match first[0] {
            b'!' => return Err(beyond),
            b'?' => panic!("provoked"),
            _ => (),
        }
        let tensor = DescribedTensor {
            dtype: DType::U8,
            shape: vec![file.size_bytes() - 4],
            offset_bytes: 4,
            ..Default::default()
        };
        Ok(Description {
            tensors: [("letters".to_owned(), tensor)].into(),
            texts: [("first".to_owned(), first[0].to_string())].into(),
        })
    }
}

#[test]
fn a_decoder() {
    let library = Library::start().unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    let (number, registration) = library.add_decoder("letters", Letters).unwrap();
    let twice = library.add_decoder("letters", Letters).unwrap_err();
    assert_eq!(twice.kind, ErrorKind::AlreadyExists);
    let file = File::with(b"LTRSabc");
    for source in [
        WeightsSource::file(&file.0),
        WeightsSource::file(&file.0).decoder(number),
    ] {
        let weights = Weights::open_source(&library, &source).unwrap();
        let metadata = weights.metadata().unwrap();
        assert_eq!(
            (metadata.format.as_str(), metadata.texts["first"].as_str()),
            ("letters", "97")
        );
        let pool = device.create_pool(&PoolConfig::default()).unwrap();
        let set = weights
            .load(&LoadRequest::to(LoadMemory::pool(&pool)))
            .unwrap();
        set.wait(None).unwrap();
        let letters = set.get("letters").unwrap().unwrap();
        // SAFETY: nothing else uses the memory of the test.
        assert_eq!(unsafe { letters.bytes() }.unwrap(), b"abc");
    }
    for (content, wanted) in [
        (b"LTRS!", ErrorKind::InvalidSize),
        (b"LTRS?", ErrorKind::InvalidFormat),
    ] {
        let file = File::with(content);
        let error = Weights::open(&library, &file.0).unwrap_err();
        assert_eq!(error.kind, wanted, "{error}");
    }
    registration.close().unwrap();
    let file = File::with(b"LTRSabc");
    assert!(Weights::open(&library, &file.0).is_err());
    device.close().unwrap();
    library.close().unwrap();
    let left = leak_report_json().unwrap();
    assert!(!left.contains("\"kind\""), "{left}");
}
