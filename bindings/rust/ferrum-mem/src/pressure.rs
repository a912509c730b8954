use crate::PressureLevel;

impl PressureLevel {
    /// Whether memory ought to be freed: from high on.
    pub fn should_free(self) -> bool {
        self >= Self::High
    }

    /// Whether requests ought to be denied: at critical.
    pub fn should_deny(self) -> bool {
        self >= Self::Critical
    }
}
