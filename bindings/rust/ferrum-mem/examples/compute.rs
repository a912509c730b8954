//! Compute: a gated layer of a language model with packed weights, as single operations and as a
//! sequence that runs in one call.

use ferrum_mem::{Compute, Device, Library, OpOutput, Result, Tensor};

const TOKENS: u64 = 4;
const HIDDEN: u64 = 64;
const INNER: u64 = 128;

/// Numbers that stand for weights.
fn weights(device: &Device, rows: u64, columns: u64) -> Result<Tensor> {
    let numbers = (0..rows * columns).map(|it| (it * 7 % 23) as f32 / 23.0 - 0.5);
    Tensor::from_vec(device, numbers.collect(), &[rows, columns])
}

fn main() -> Result<()> {
    let library = Library::start()?;
    let device = Device::open(&library, "cpu:0")?;
    println!("found: {}", library.find_compute_json("")?);
    let compute = Compute::open(&device, &Default::default())?;

    // An operation is prepared once. Its constant input is packed into the layout that the backend
    // reads fastest.
    let linear = compute.prepare("ferrum.linear", "", None)?;
    let gated = compute.prepare("ferrum.silu_mul", "", None)?;
    let norm = compute.prepare("RMSNormalization", r#"{"epsilon": 1e-6}"#, None)?;
    let pack = |rows, columns| linear.pack(1, &weights(&device, rows, columns)?, None, None);
    let (gate, up, down) = (
        pack(INNER, HIDDEN)?,
        pack(INNER, HIDDEN)?,
        pack(HIDDEN, INNER)?,
    );
    let scale = Tensor::from_vec(&device, vec![1.0f32; HIDDEN as usize], &[HIDDEN])?;
    let x = weights(&device, TOKENS, HIDDEN)?;

    let normed = norm.run_one(&[&x, &scale], None)?;
    let (a, b) = (
        linear.run_one(&[&normed, &gate], None)?,
        linear.run_one(&[&normed, &up], None)?,
    );
    let y = linear.run_one(&[&gated.run_one(&[&a, &b], None)?, &down], None)?;
    let single: Vec<f32> = y.to_vec(None)?;

    // The same as a sequence: each run is one call, and allocates nothing.
    let sequence = compute.create_sequence()?;
    let add = |op, inputs: &[&Tensor]| {
        let inputs: Vec<_> = inputs.iter().map(|it| Some(*it)).collect();
        let mut made = sequence.add(op, &inputs, &[OpOutput::New])?;
        Ok::<_, ferrum_mem::Error>(made.remove(0).expect("a new output is returned"))
    };
    let normed = add(&norm, &[&x, &scale])?;
    let (a, b) = (
        add(&linear, &[&normed, &gate])?,
        add(&linear, &[&normed, &up])?,
    );
    let product = add(&gated, &[&a, &b])?;
    let y = add(&linear, &[&product, &down])?;
    for _ in 0..3 {
        sequence.run(None)?;
    }
    assert_eq!(y.to_vec::<f32>(None)?, single);
    println!(
        "{:?} after {TOKENS} tokens: {:.4} ...",
        y.shape(),
        single[0]
    );

    // An error names the operator, the input and both shapes.
    let wrong = linear.run_one(&[&product, &gate], None).unwrap_err();
    println!("as expected: {wrong}");
    println!("status: {}", compute.status_json()?);
    Ok(())
}
