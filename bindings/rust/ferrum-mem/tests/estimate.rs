//! Estimation with the real library, which need not be started for it.

use ferrum_mem::{
    estimate_config_json, estimate_file_json, estimate_inference_memory, estimate_kv_cache_memory,
    estimate_model_memory, ErrorKind, EstimateDType, EstimateRequest, KvCacheShape, ModelShape,
};

fn mistral(dtype_bytes: u64) -> ModelShape {
    ModelShape {
        hidden_size: 4096,
        intermediate_size: 14336,
        num_layers: 32,
        vocab_size: 32000,
        num_heads: 32,
        num_kv_heads: 8,
        max_seq_len: 4096,
        dtype_bytes,
    }
}

fn config(name: &str) -> String {
    format!(
        "{}/../../../core/estimate/testdata/configs/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    )
}

#[test]
fn the_worked_example_of_the_short_formulas() {
    let found = estimate_inference_memory(&mistral(4)).unwrap();
    assert_eq!(found.model_bytes, 28966928384);
    assert_eq!(found.kv_cache_bytes, 1073741824);
    assert_eq!(found.activation_bytes, 262144);
    assert_eq!(found.total_bytes, 30040932352);
    assert_eq!(estimate_model_memory(&mistral(4)).unwrap(), 28966928384);
    let cache = KvCacheShape {
        num_layers: 32,
        num_kv_heads: 8,
        head_dim: 128,
        max_seq_len: 4096,
        dtype_bytes: 4,
    };
    assert_eq!(estimate_kv_cache_memory(&cache).unwrap(), 1073741824);
    assert_eq!(
        found.to_string(),
        "model 27625.02 MiB + KV cache 1024.00 MiB + activations 0.25 MiB = 28649.27 MiB (27.98 GiB)"
    );
    let half = estimate_inference_memory(&mistral(2)).unwrap();
    assert_eq!(half.total_bytes, 15020466176);
    assert_eq!(format!("{:.2}", half.total_gb()), "13.99");
}

#[test]
fn short_formulas_reject_bad_shapes() {
    let none = ModelShape {
        num_heads: 0,
        ..mistral(4)
    };
    let error = estimate_model_memory(&none).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
    let huge = ModelShape {
        hidden_size: 1 << 63,
        ..mistral(4)
    };
    let error = estimate_inference_memory(&huge).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Overflow);
}

#[test]
fn a_model_from_its_configuration() {
    let serving = EstimateRequest {
        context: Some(8192),
        kv_dtype: Some(EstimateDType::F8),
        free_bytes: Some(80 << 30),
        ..Default::default()
    };
    let found = estimate_file_json(config("llama-3.1-8b"), &serving).unwrap();
    for part in [
        "\"parameters\":8030261248",
        "\"weights_bytes\":16060522496",
        "\"kv_cache_bytes\":536870912",
        "\"kv_dtype\":\"f8\"",
        "\"fits\":true",
    ] {
        assert!(found.contains(part), "{part} in {found}");
    }
    let text = std::fs::read_to_string(config("llama-3.1-8b")).unwrap();
    let same = estimate_config_json(&text, &serving).unwrap();
    assert!(same.contains("\"kv_cache_bytes\":536870912"), "{same}");
    let plain = estimate_config_json(&text, &EstimateRequest::default()).unwrap();
    assert!(plain.contains("\"context\":131072"), "{plain}");
    assert!(!plain.contains("\"fits\""), "{plain}");
    let eager = EstimateRequest {
        eager_attention: true,
        all_logits: true,
        ..Default::default()
    };
    assert_ne!(plain, estimate_config_json(&text, &eager).unwrap());
}

#[test]
fn bad_input_is_named() {
    let kind = |result: ferrum_mem::Result<String>| result.unwrap_err().kind;
    let plain = EstimateRequest::default();
    assert_eq!(
        kind(estimate_file_json("/nowhere/config.json", &plain)),
        ErrorKind::NotFound
    );
    assert_eq!(
        kind(estimate_config_json("{}", &plain)),
        ErrorKind::InvalidFormat
    );
    assert_eq!(
        kind(estimate_config_json("", &plain)),
        ErrorKind::InvalidFormat
    );
    assert_eq!(
        kind(estimate_file_json("a\0b", &plain)),
        ErrorKind::InvalidArgument
    );
    let unknown = "f7".parse::<EstimateDType>().unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::InvalidArgument);
    assert!(unknown.message.contains("int8, int4"), "{unknown}");
    for dtype in EstimateDType::ALL {
        let each = EstimateRequest {
            weight_dtype: Some(dtype),
            kv_dtype: Some(dtype.name().parse().unwrap()),
            ..plain
        };
        estimate_file_json(config("phi-2"), &each).unwrap();
    }
}
