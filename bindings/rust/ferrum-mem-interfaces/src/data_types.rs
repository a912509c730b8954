use ferrum_mem::DType;
use ferrum_types::DataType;

/// The type of the traits; `None`: they do not have it.
pub(crate) fn data_type_of(dtype: DType) -> Option<DataType> {
    Some(match dtype {
        DType::F32 => DataType::FP32,
        DType::F16 => DataType::FP16,
        DType::Bf16 => DataType::BF16,
        DType::F8 | DType::F8E5m2 => DataType::FP8,
        DType::I32 => DataType::INT32,
        DType::I16 => DataType::INT16,
        DType::I8 => DataType::INT8,
        DType::I4 => DataType::INT4,
        DType::U32 => DataType::UINT32,
        DType::U16 => DataType::UINT16,
        DType::U8 => DataType::UINT8,
        DType::U4 => DataType::UINT4,
        DType::Bool => DataType::BOOL,
        _ => return None,
    })
}

/// The type of the library. FP8 is the one with 4 bits of exponent.
pub(crate) fn dtype_of(dtype: DataType) -> DType {
    match dtype {
        DataType::FP32 => DType::F32,
        DataType::FP16 => DType::F16,
        DataType::BF16 => DType::Bf16,
        DataType::FP8 => DType::F8,
        DataType::INT32 => DType::I32,
        DataType::INT16 => DType::I16,
        DataType::INT8 => DType::I8,
        DataType::INT4 => DType::I4,
        DataType::UINT32 => DType::U32,
        DataType::UINT16 => DType::U16,
        DataType::UINT8 => DType::U8,
        DataType::UINT4 => DType::U4,
        DataType::BOOL => DType::Bool,
    }
}
