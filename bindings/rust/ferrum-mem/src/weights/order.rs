use serde_json::{json, Map, Value};

use crate::DType;

/// The tensors of a source that are loaded, their new names, and their transformations. The default
/// is all tensors unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Order {
    /// All tensors unchanged.
    #[default]
    All,
    /// Tensors whose names match patterns.
    Chosen(Selection),
    /// A list of single tensors.
    Listed(Vec<TensorOrder>),
}

/// Chooses tensors by patterns of their names. `*` matches any text, `?` one character.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Names that are loaded; empty: all.
    pub include: Vec<String>,
    /// Names that are not loaded.
    pub exclude: Vec<String>,
    /// Beginnings of names to replace: the old and the new beginning.
    pub rename: Vec<(String, String)>,
    /// Text that is put before each name.
    pub prefix: Option<String>,
    /// The transformations of each tensor, in this order.
    pub transformations: Vec<Transformation>,
    /// Type to which floating-point tensors are converted.
    pub float_dtype: Option<DType>,
    /// Index of the memory in the memories of the load.
    pub memory: usize,
}

/// A tensor of an [`Order`].
#[derive(Clone, Debug, PartialEq)]
pub struct TensorOrder {
    tensor: String,
    name: Option<String>,
    shape: Option<Vec<u64>>,
    dtype: Option<DType>,
    transformations: Vec<Transformation>,
    memory: usize,
    into: Option<(u64, u64)>,
}

/// A transformation of a tensor while it is loaded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Transformation {
    /// Swaps two dimensions. Negative numbers count from the end.
    Transpose {
        /// The first dimension.
        dim0: i64,
        /// The second dimension.
        dim1: i64,
    },
    /// Another shape with the same number of elements.
    Reshape {
        /// The shape, the slowest dimension first.
        shape: Vec<u64>,
    },
    /// Another type.
    Cast {
        /// The type.
        dtype: DType,
    },
    /// Multiplies every element by a number.
    Scale {
        /// The number.
        factor: f32,
    },
    /// A part of one dimension.
    Slice {
        /// The dimension.
        dim: i64,
        /// The first index; `None`: 0.
        start: Option<u64>,
        /// The index after the last one; `None`: the end.
        end: Option<u64>,
    },
}

impl TensorOrder {
    /// A tensor of the source, unchanged.
    pub fn new(tensor: impl Into<String>) -> Self {
        Self {
            tensor: tensor.into(),
            name: None,
            shape: None,
            dtype: None,
            transformations: Vec::new(),
            memory: 0,
            into: None,
        }
    }

    /// Name in the set. Without it the name in the source is used.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The shape that the tensor must have in the source; another shape is an error.
    pub fn shaped(mut self, shape: impl Into<Vec<u64>>) -> Self {
        self.shape = Some(shape.into());
        self
    }

    /// The type that the result must have; another type is an error.
    pub fn typed(mut self, dtype: DType) -> Self {
        self.dtype = Some(dtype);
        self
    }

    /// Adds a transformation.
    pub fn with(mut self, transformation: Transformation) -> Self {
        self.transformations.push(transformation);
        self
    }

    /// Index of its memory in the memories of the load. Without it the first memory is used.
    pub fn memory(mut self, place: usize) -> Self {
        self.memory = place;
        self
    }

    /// Loads the tensor into memory of the program.
    ///
    /// # Safety
    ///
    /// The addresses belong to the device of the tensor's memory, and nothing else uses them until
    /// the load has ended.
    pub unsafe fn at(mut self, address: u64, size_bytes: u64) -> Self {
        self.into = Some((address, size_bytes));
        self
    }

    fn json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("tensor".into(), json!(self.tensor));
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(key.into(), value);
            }
        };
        put("name", self.name.as_ref().map(|it| json!(it)));
        put("shape", self.shape.as_ref().map(|it| json!(it)));
        put("dtype", self.dtype.map(|it| json!(it.name())));
        put("memory", (self.memory != 0).then(|| json!(self.memory)));
        put(
            "into",
            self.into
                .map(|(address, size)| json!({"address": address, "size_bytes": size})),
        );
        put("transformations", transformations(&self.transformations));
        Value::Object(fields)
    }
}

fn transformations(list: &[Transformation]) -> Option<Value> {
    (!list.is_empty()).then(|| list.iter().map(Transformation::json).collect())
}

impl Transformation {
    fn json(&self) -> Value {
        match self {
            Self::Transpose { dim0, dim1 } => {
                json!({"kind": "transpose", "dim0": dim0, "dim1": dim1})
            }
            Self::Reshape { shape } => json!({"kind": "reshape", "shape": shape}),
            Self::Cast { dtype } => json!({"kind": "cast", "dtype": dtype.name()}),
            Self::Scale { factor } => json!({"kind": "scale", "factor": factor}),
            Self::Slice { dim, start, end } => {
                let mut fields = Map::new();
                fields.insert("kind".into(), json!("slice"));
                fields.insert("dim".into(), json!(dim));
                for (key, side) in [("start", start), ("end", end)] {
                    if let Some(side) = side {
                        fields.insert(key.into(), json!(side));
                    }
                }
                Value::Object(fields)
            }
        }
    }
}

impl Selection {
    fn json(&self) -> Value {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(key.into(), value);
            }
        };
        let list = |texts: &[String]| (!texts.is_empty()).then(|| json!(texts));
        put("include", list(&self.include));
        put("exclude", list(&self.exclude));
        let renamed = self.rename.iter();
        let renamed: Vec<_> = renamed
            .map(|(from, to)| json!({"from": from, "to": to}))
            .collect();
        put("rename", (!renamed.is_empty()).then(|| json!(renamed)));
        put("prefix", self.prefix.as_ref().map(|it| json!(it)));
        put("transformations", transformations(&self.transformations));
        put("float_dtype", self.float_dtype.map(|it| json!(it.name())));
        put("memory", (self.memory != 0).then(|| json!(self.memory)));
        Value::Object(fields)
    }
}

impl Order {
    /// The text for C; `None`: all tensors.
    pub(super) fn json(&self) -> Option<String> {
        let value = match self {
            Self::All => return None,
            Self::Chosen(selection) => selection.json(),
            Self::Listed(tensors) => {
                let list: Vec<_> = tensors.iter().map(TensorOrder::json).collect();
                json!({ "tensors": list })
            }
        };
        Some(value.to_string())
    }
}
