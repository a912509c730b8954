use crate::PressureLevel;

impl PressureLevel {
    /// Whether the program should free memory: from high on.
    pub fn should_free(self) -> bool {
        self >= Self::High
    }

    /// Whether the program should deny requests: at critical.
    pub fn should_deny(self) -> bool {
        self >= Self::Critical
    }
}
