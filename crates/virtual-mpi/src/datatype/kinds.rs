//! Kinds of elements, as messages and collective calls are compared by them.
//!
//! Elements match where the standard names the same datatype on both sides (MPI 4.1, section 3.3.1). Names of one
//! representation count as one kind here: `MPI_INT`, `MPI_INTEGER` and `MPI_INT32_T` are often mixed between languages.
//! Bytes and packed data match everything.

use weft_comm::ElementKinds;

use super::{Basic, Class, Run};

/// By bit. The first are those of most programs: numbers of ranks' processes to the hub are short for small ones.
const KINDS: [(Class, u8, &str); 22] = [
    (Class::Float, 8, "MPI_DOUBLE"),
    (Class::Signed, 4, "MPI_INT"),
    (Class::Character, 1, "MPI_CHAR"),
    (Class::Signed, 8, "MPI_LONG"),
    (Class::Float, 4, "MPI_FLOAT"),
    (Class::Unsigned, 1, "MPI_UNSIGNED_CHAR"),
    (Class::Complex, 16, "MPI_C_DOUBLE_COMPLEX"),
    (Class::Unsigned, 8, "MPI_UNSIGNED_LONG"),
    (Class::Unsigned, 4, "MPI_UNSIGNED"),
    (Class::Complex, 8, "MPI_C_FLOAT_COMPLEX"),
    (Class::Signed, 2, "MPI_SHORT"),
    (Class::Signed, 1, "MPI_SIGNED_CHAR"),
    (Class::Unsigned, 2, "MPI_UNSIGNED_SHORT"),
    (Class::Logical, 1, "MPI_C_BOOL"),
    (Class::Logical, 4, "MPI_LOGICAL"),
    (Class::LongDouble, 16, "MPI_LONG_DOUBLE"),
    (Class::LongDoubleComplex, 32, "MPI_C_LONG_DOUBLE_COMPLEX"),
    (Class::Signed, 16, "MPI_INTEGER16"),
    (Class::Character, 4, "MPI_WCHAR"),
    (Class::Logical, 2, "MPI_LOGICAL2"),
    (Class::Logical, 8, "MPI_LOGICAL8"),
    (Class::Logical, 16, "MPI_LOGICAL16"),
];

fn kind_of(basic: Basic) -> Option<ElementKinds> {
    let bit = KINDS.iter().position(|&(class, size, _)| class == basic.class && size == basic.size)?;
    Some(ElementKinds::of(1 << bit))
}

/// The kinds of all elements; unknown where some of them are bytes.
pub(super) fn kinds_of(runs: &[Run]) -> ElementKinds {
    let all = runs.iter().try_fold(ElementKinds::UNKNOWN, |all, run| Some(all.and(kind_of(run.basic)?)));
    all.unwrap_or_default()
}

/// The kinds by the names of C's datatypes.
pub fn names(kinds: ElementKinds) -> String {
    let named = KINDS.iter().enumerate().filter(|(bit, _)| kinds.bits() >> bit & 1 == 1).map(|(_, (.., name))| *name);
    named.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::super::predefined;
    use super::*;

    #[test]
    fn every_datatype_of_the_standard_has_a_kind_unless_it_is_of_bytes() {
        for datatype in predefined().values() {
            let is_bytes = datatype.pieces.list().iter().any(|run| run.basic.class == Class::Byte);
            assert_eq!(
                kinds_of(datatype.pieces.list()) == ElementKinds::UNKNOWN,
                is_bytes || datatype.pieces.is_empty()
            );
        }
    }

    #[test]
    fn kinds_are_named_as_in_c() {
        let pair = &predefined()[&super::super::FLOAT_INT];
        assert_eq!(names(kinds_of(pair.pieces.list())), "MPI_INT and MPI_FLOAT");
    }
}
