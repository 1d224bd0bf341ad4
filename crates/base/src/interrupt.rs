//! How long computations are told to end.

use std::fmt;
use std::rc::Rc;

/// Whether somebody wants a computation to end (Ctrl-C): asked by loops that may take long, at intervals of their own.
///
/// # Examples
/// ```
/// use std::{cell::Cell, rc::Rc};
/// use weft_base::Interrupt;
///
/// let pressed = Rc::new(Cell::new(false));
/// let asked = Rc::clone(&pressed);
/// let interrupt = Interrupt::new(move || asked.get());
/// assert!(!interrupt.is_requested());
/// pressed.set(true);
/// assert!(interrupt.is_requested() && !Interrupt::NEVER.is_requested());
/// ```
#[derive(Clone, Default)]
pub struct Interrupt(Option<Rc<dyn Fn() -> bool>>);

impl Interrupt {
    /// Nobody ever does.
    pub const NEVER: Interrupt = Interrupt(None);

    /// As `asked` says, which is called often and should be cheap.
    pub fn new(asked: impl Fn() -> bool + 'static) -> Interrupt {
        Interrupt(Some(Rc::new(asked)))
    }

    /// Whether the computation shall end.
    pub fn is_requested(&self) -> bool {
        self.0.as_ref().is_some_and(|asked| asked())
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Interrupt(…)" } else { "Interrupt(never)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_computation_is_asked_to_end_or_never() {
        assert!(!Interrupt::NEVER.is_requested());
        assert!(!Interrupt::default().is_requested());
        assert!(Interrupt::new(|| true).is_requested());
    }
}
