//! weft's library of the language, written in it.

/// A module of the library.
pub struct LibraryModule {
    /// Its name.
    pub name: &'static str,
    /// Its source.
    pub text: &'static str,
}

/// Every module.
pub const MODULES: &[LibraryModule] = &[
    LibraryModule { name: "merge", text: include_str!("library/merge.fghc") },
    LibraryModule { name: "unix", text: include_str!("library/unix.fghc") },
    LibraryModule { name: "io", text: include_str!("library/io.fghc") },
    LibraryModule { name: "klicio", text: include_str!("library/klicio.fghc") },
];
