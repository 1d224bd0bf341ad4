//! Which elements a message is made of, as far as that is compared where it is received.

/// A set of kinds of elements. Which kinds there are is its user's matter; an empty set is compared with nothing.
///
/// # Examples
/// ```
/// use weft_comm::ElementKinds;
///
/// let (int, float) = (ElementKinds::of(1), ElementKinds::of(2));
/// assert!(int.agree_with(int.and(float), false));
/// // A message that fills its receive has every kind of element that the receive has.
/// assert!(!int.agree_with(int.and(float), true));
/// assert!(!int.agree_with(float, false));
/// assert!(int.agree_with(ElementKinds::UNKNOWN, true));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ElementKinds(u32);

impl ElementKinds {
    /// Of a message that is not compared.
    pub const UNKNOWN: ElementKinds = ElementKinds(0);

    /// So many kinds fit into the 16 bytes that messages are matched by.
    pub const MAX: u32 = 29;

    /// The kinds whose bits are set.
    ///
    /// # Panics
    /// For a bit from [`ElementKinds::MAX`] on.
    pub const fn of(bits: u32) -> ElementKinds {
        assert!(bits < 1 << ElementKinds::MAX, "there are not so many kinds of elements");
        ElementKinds(bits)
    }

    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The kinds of both.
    pub const fn and(self, other: ElementKinds) -> ElementKinds {
        ElementKinds(self.0 | other.0)
    }

    /// Whether a message of these kinds may be received as elements of `receive`; `is_whole` where it fills the receive.
    pub fn agree_with(self, receive: ElementKinds, is_whole: bool) -> bool {
        let is_known = self != ElementKinds::UNKNOWN && receive != ElementKinds::UNKNOWN;
        !is_known || (self.0 & !receive.0 == 0 && (!is_whole || self == receive))
    }
}
