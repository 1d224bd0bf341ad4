//! Kernels as part of JAX's computations: XLA calls `launch_kernel`, which puts the launch into XLA's stream.
//!
//! The structures are those of XLA's foreign function interface (xla/ffi/api/c_api.h), major version 0, as far as they
//! are used. Its minor versions only add fields at the end.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;

use pyo3::prelude::*;

/// XLA_FFI_API_MAJOR.
const MAJOR_VERSION: c_int = 0;

/// XLA_FFI_Extension_Metadata: XLA asks for what a handler is made for.
const EXTENSION_METADATA: c_int = 1;

/// XLA_FFI_ExecutionStage_EXECUTE.
const STAGE_EXECUTE: c_int = 3;

/// XLA_FFI_AttrType_ARRAY.
const ATTRIBUTE_ARRAY: c_int = 1;

/// XLA_FFI_DataType_S64.
const DATA_TYPE_S64: c_int = 5;

/// XLA_FFI_Error_Code_INVALID_ARGUMENT.
const INVALID_ARGUMENT: c_int = 3;

/// XLA_FFI_Error_Code_INTERNAL.
const INTERNAL: c_int = 13;

/// XLA_FFI_Error.
#[repr(C)]
pub struct Error {
    _opaque: [u8; 0],
}

/// XLA_FFI_Extension_Base.
#[repr(C)]
struct Extension {
    struct_size: usize,
    kind: c_int,
    next: *mut Extension,
}

/// XLA_FFI_Api_Version.
#[repr(C)]
struct Version {
    struct_size: usize,
    extension: *mut Extension,
    major: c_int,
    minor: c_int,
}

/// XLA_FFI_Metadata.
#[repr(C)]
struct Metadata {
    struct_size: usize,
    version: Version,
    traits: u32,
}

/// XLA_FFI_Metadata_Extension.
#[repr(C)]
struct MetadataExtension {
    base: Extension,
    metadata: *mut Metadata,
}

/// XLA_FFI_Error_Create_Args.
#[repr(C)]
struct ErrorCreate {
    struct_size: usize,
    extension: *mut Extension,
    message: *const c_char,
    code: c_int,
}

/// XLA_FFI_Stream_Get_Args.
#[repr(C)]
struct StreamGet {
    struct_size: usize,
    extension: *mut Extension,
    context: *mut c_void,
    stream: *mut c_void,
}

/// XLA_FFI_Api, up to the last function that is called here.
#[repr(C)]
struct Api {
    struct_size: usize,
    extension: *mut Extension,
    version: Version,
    internal: *const c_void,
    error_create: unsafe extern "C" fn(*mut ErrorCreate) -> *mut Error,
    error_get_message: *const c_void,
    error_destroy: *const c_void,
    handler_register: *const c_void,
    stream_get: unsafe extern "C" fn(*mut StreamGet) -> *mut Error,
}

/// XLA_FFI_Args and XLA_FFI_Rets.
#[repr(C)]
struct Buffers {
    struct_size: usize,
    extension: *mut Extension,
    count: i64,
    kinds: *const c_int,
    buffers: *const *const Buffer,
}

/// XLA_FFI_Buffer.
#[repr(C)]
struct Buffer {
    struct_size: usize,
    extension: *mut Extension,
    data_type: c_int,
    data: *mut c_void,
}

/// XLA_FFI_Attrs.
#[repr(C)]
struct Attributes {
    struct_size: usize,
    extension: *mut Extension,
    count: i64,
    kinds: *const c_int,
    names: *const *const c_void,
    values: *const *const Array,
}

/// XLA_FFI_Array.
#[repr(C)]
struct Array {
    data_type: c_int,
    length: usize,
    data: *const i64,
}

/// XLA_FFI_CallFrame, up to the attributes.
#[repr(C)]
pub struct CallFrame {
    struct_size: usize,
    extension: *mut Extension,
    api: *const Api,
    context: *mut c_void,
    stage: c_int,
    arguments: Buffers,
    results: Buffers,
    attributes: Attributes,
}

/// cuLaunchKernel: the kernel, blocks along three axes, threads along three axes, bytes of shared memory, the stream,
/// addresses of the kernel's parameters, and further options.
type Launcher = unsafe extern "C" fn(
    *const c_void,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    *mut c_void,
    *const *const c_void,
    *const *const c_void,
) -> c_int;

/// Words of a launch before those of its parameters: the address of cuLaunchKernel, the kernel, blocks, threads along
/// two axes, bytes of shared memory of a block, and whether there is a stream.
const LAUNCH_WORDS: usize = 7;

/// Words of a parameter: its kind, then the index of an argument or a result, or 16 bytes of a value.
const PARAMETER_WORDS: usize = 3;

/// The address of `launch_kernel`, and how many words describe a launch and a parameter.
#[pyfunction]
pub fn xla_kernel_launcher() -> (usize, usize, usize) {
    let handler: unsafe extern "C" fn(*mut CallFrame) -> *mut Error = launch_kernel;
    (handler as usize, LAUNCH_WORDS, PARAMETER_WORDS)
}

/// Launches a kernel with what XLA has in a call frame.
///
/// # Safety
///
/// The frame is one of XLA, and its only attribute describes a launch (python/weft/cuda/launching.py).
unsafe extern "C" fn launch_kernel(frame: *mut CallFrame) -> *mut Error {
    // SAFETY: XLA's frames, and all that they point to, are there until the call returns.
    unsafe {
        let frame = &*frame;
        let api = &*frame.api;
        if !frame.extension.is_null() && (*frame.extension).kind == EXTENSION_METADATA {
            let metadata = &mut *(*frame.extension.cast::<MetadataExtension>()).metadata;
            metadata.version.major = MAJOR_VERSION;
            metadata.version.minor = api.version.minor;
            metadata.traits = 0;
            return ptr::null_mut();
        }
        if frame.stage != STAGE_EXECUTE {
            return ptr::null_mut();
        }
        let Some(words) = described(&frame.attributes) else {
            return failed(api, INVALID_ARGUMENT, "a launch is described by one array of int64");
        };
        let (launch, parameters) = words.split_at(LAUNCH_WORDS);
        let mut stream = ptr::null_mut();
        if launch[6] != 0 {
            let mut wanted = StreamGet {
                struct_size: size_of::<StreamGet>(),
                extension: ptr::null_mut(),
                context: frame.context,
                stream: ptr::null_mut(),
            };
            let error = (api.stream_get)(&raw mut wanted);
            if !error.is_null() {
                return error;
            }
            stream = wanted.stream;
        }
        let Some(addresses) = addresses(parameters, &frame.arguments, &frame.results) else {
            return failed(api, INVALID_ARGUMENT, "a parameter of the kernel is no argument, result or value");
        };
        let launcher: Launcher = std::mem::transmute::<usize, Launcher>(launch[0] as usize);
        let [blocks, across, down, shared] = [launch[2], launch[3], launch[4], launch[5]].map(|count| count as c_uint);
        let kernel = launch[1] as usize as *const c_void;
        match launcher(kernel, blocks, 1, 1, across, down, 1, shared, stream, addresses.as_ptr(), ptr::null()) {
            0 => ptr::null_mut(),
            code => failed(api, INTERNAL, &format!("cuLaunchKernel returned {code}")),
        }
    }
}

/// The words of a launch, if the only attribute is such an array.
///
/// # Safety
///
/// The attributes are those of a frame of XLA.
unsafe fn described(attributes: &Attributes) -> Option<&[i64]> {
    // SAFETY: there are as many as `count` says, and an array has as many elements as its length.
    unsafe {
        if attributes.count != 1 || *attributes.kinds != ATTRIBUTE_ARRAY {
            return None;
        }
        let array = &**attributes.values;
        let is_launch = array.length >= LAUNCH_WORDS && (array.length - LAUNCH_WORDS).is_multiple_of(PARAMETER_WORDS);
        (array.data_type == DATA_TYPE_S64 && is_launch).then(|| std::slice::from_raw_parts(array.data, array.length))
    }
}

/// The addresses of the parameters' values: those of arrays are addresses themselves, which stand in XLA's buffers.
///
/// # Safety
///
/// The buffers are those of a frame of XLA.
unsafe fn addresses(parameters: &[i64], arguments: &Buffers, results: &Buffers) -> Option<Vec<*const c_void>> {
    let of = |buffers: &Buffers, index: i64| {
        (0..buffers.count).contains(&index).then(|| {
            // SAFETY: there are as many as `count` says, all of them arrays: there are no others yet.
            unsafe { (&raw const (**buffers.buffers.add(index as usize)).data).cast::<c_void>() }
        })
    };
    let address = |parameter: &[i64]| match parameter[0] {
        0 => of(arguments, parameter[1]),
        1 => of(results, parameter[1]),
        2 => Some((&raw const parameter[1]).cast::<c_void>()),
        _ => None,
    };
    parameters.chunks_exact(PARAMETER_WORDS).map(address).collect()
}

/// An error of XLA with a message.
///
/// # Safety
///
/// The functions are XLA's.
unsafe fn failed(api: &Api, code: c_int, message: &str) -> *mut Error {
    let message = CString::new(format!("weft: {message}")).unwrap_or_default();
    let mut wanted = ErrorCreate {
        struct_size: size_of::<ErrorCreate>(),
        extension: ptr::null_mut(),
        message: message.as_ptr(),
        code,
    };
    // SAFETY: XLA copies the message.
    unsafe { (api.error_create)(&raw mut wanted) }
}
