//! Programs translated for this processor, where the build has a translation.

use crate::engine::{Loaded, Translation};

impl Loaded {
    /// Translates the code for this processor. Answers and counts stay the same; so does the speed where there is no
    /// translation: on a processor that Cranelift has none for, or in a build without the feature `native`.
    pub fn translate(self) -> Loaded {
        self.translate_as(&Translation::default())
    }

    /// As [`Loaded::translate`], with chosen options.
    #[cfg(feature = "native")]
    pub fn translate_as(mut self, translation: &Translation) -> Loaded {
        self.backend = crate::native::translated(&self.code, translation);
        self
    }

    /// As [`Loaded::translate`], with chosen options.
    #[cfg(not(feature = "native"))]
    pub fn translate_as(self, _: &Translation) -> Loaded {
        self
    }
}
