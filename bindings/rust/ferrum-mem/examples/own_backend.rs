//! A compute backend of the program, which multiplies matrices. The CPU engine computes what follows.

use ferrum_mem::{
    Compute, ComputeCall, ComputePlan, Device, ErrorKind, Library, ProgramBackend, ProgramFailure,
    Result, Tensor,
};

/// Multiplies matrices of f32.
struct Products;

impl ProgramBackend for Products {
    fn version(&self) -> String {
        "1.0".to_owned()
    }

    fn plan(&self, call: &ComputeCall<'_>) -> std::result::Result<ComputePlan, ProgramFailure> {
        let ranks = [call.input(0)?.shape().len(), call.input(1)?.shape().len()];
        if call.name() == "MatMul" && ranks == [2, 2] {
            return Ok(ComputePlan::default());
        }
        let message = format!("only products of matrices, not {}", call.name());
        Err(ProgramFailure::new(ErrorKind::Unsupported, message))
    }

    fn run(&self, call: &ComputeCall<'_>) -> std::result::Result<(), ProgramFailure> {
        let (a, b) = (call.input(0)?, call.input(1)?);
        let (inner, columns) = (b.shape()[0] as usize, b.shape()[1] as usize);
        let (left, right) = (a.read::<f32>()?, b.read::<f32>()?);
        let rows = left.chunks(inner.max(1));
        let product: Vec<f32> = rows
            .flat_map(|row| {
                let right = &right;
                (0..columns).map(move |column| {
                    let terms = row.iter().enumerate();
                    terms.map(|(k, x)| x * right[k * columns + column]).sum()
                })
            })
            .collect();
        call.output(0)?.write(&product)
    }
}

fn main() -> Result<()> {
    let library = Library::start()?;
    let device = Device::open(&library, "cpu:0")?;
    let properties = r#"{"supported_devices": ["cpu:0"], "supported_dtypes": ["f32"],
        "extra_capabilities": {"products": true}}"#;
    let products = library.register_compute("products", properties, Products)?;
    let found = library.find_compute_json(r#"{"extra_requirements": {"products": true}}"#)?;
    assert!(found.starts_with(r#"{"best":"products""#), "{found}");

    let own = products.open(&device, &Default::default())?;
    let engine = Compute::open(&device, &Default::default())?;
    let a = Tensor::from_vec(&device, vec![1.0f32, 2.0, 3.0, -4.0, 5.0, -6.0], &[2, 3])?;
    let b = Tensor::from_vec(&device, vec![1.0f32, 0.0, 0.0, 1.0, 1.0, 1.0], &[3, 2])?;
    let product = own.prepare("MatMul", "", None)?.run_one(&[&a, &b], None)?;
    let kept = engine
        .prepare("Relu", "", None)?
        .run_one(&[&product], None)?;
    println!("{:?}", kept.to_vec::<f32>(None)?);

    let wrong = own.prepare("Add", "", None)?.run_one(&[&a, &a], None);
    println!("as expected: {}", wrong.unwrap_err());
    Ok(())
}
