//! Streams of bytes by handles: standard input, output and error, and files.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

/// One open stream.
enum Stream {
    Reader { reader: Box<dyn BufRead + Send>, returned: Vec<u8> },
    Writer(Box<dyn Write + Send>),
}

/// The streams of an engine.
pub struct Files {
    streams: Vec<Option<Stream>>,
    /// Something may wait to be written out.
    written: bool,
}

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    Append,
}

const CLOSED: &str = "the stream is closed";

impl Files {
    pub fn new(output: Box<dyn Write + Send>) -> Files {
        let input = Stream::Reader { reader: Box::new(BufReader::new(io::stdin())), returned: Vec::new() };
        let output = Stream::Writer(Box::new(BufWriter::new(output)));
        let streams = vec![Some(input), Some(output), Some(Stream::Writer(Box::new(io::stderr())))];
        Files { streams, written: false }
    }

    /// A handle, or an error of the system.
    pub fn open(&mut self, path: &str, access: Access) -> io::Result<usize> {
        let stream = match access {
            Access::Read => {
                Stream::Reader { reader: Box::new(BufReader::new(File::open(path)?)), returned: Vec::new() }
            }
            Access::Write => Stream::Writer(Box::new(BufWriter::new(File::create(path)?))),
            Access::Append => {
                let file = OpenOptions::new().append(true).create(true).open(path)?;
                Stream::Writer(Box::new(BufWriter::new(file)))
            }
        };
        let free = self.streams.iter().position(Option::is_none);
        let handle = free.unwrap_or_else(|| {
            self.streams.push(None);
            self.streams.len() - 1
        });
        self.streams[handle] = Some(stream);
        Ok(handle)
    }

    fn stream(&mut self, handle: i64) -> Result<&mut Stream, String> {
        let index = usize::try_from(handle).map_err(|_| format!("there is no stream {handle}"))?;
        match self.streams.get_mut(index) {
            Some(Some(stream)) => Ok(stream),
            Some(None) => Err(CLOSED.to_string()),
            None => Err(format!("there is no stream {handle}")),
        }
    }

    /// Writes bytes.
    pub fn put(&mut self, handle: i64, bytes: &[u8]) -> Result<(), String> {
        self.written = true;
        match self.stream(handle)? {
            Stream::Writer(writer) => writer.write_all(bytes).map_err(|error| error.to_string()),
            Stream::Reader { .. } => Err("the stream was opened to read".to_string()),
        }
    }

    fn reader(&mut self, handle: i64) -> Result<(&mut Box<dyn BufRead + Send>, &mut Vec<u8>), String> {
        match self.stream(handle)? {
            Stream::Reader { reader, returned } => Ok((reader, returned)),
            Stream::Writer(_) => Err("the stream was opened to write".to_string()),
        }
    }

    /// At most so many bytes; none at the end.
    pub fn get(&mut self, handle: i64, most: usize) -> Result<Vec<u8>, String> {
        let (reader, returned) = self.reader(handle)?;
        let mut bytes = Vec::new();
        while bytes.len() < most
            && let Some(byte) = returned.pop()
        {
            bytes.push(byte);
        }
        let left = (most - bytes.len()) as u64;
        reader.take(left).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Gives a byte back.
    pub fn unget(&mut self, handle: i64, byte: u8) -> Result<(), String> {
        let (_, returned) = self.reader(handle)?;
        returned.push(byte);
        Ok(())
    }

    /// Bytes that were given back and not read again.
    pub fn bytes(&self) -> usize {
        let returned = |stream: &Stream| match stream {
            Stream::Reader { returned, .. } => returned.capacity(),
            Stream::Writer(_) => 0,
        };
        self.streams.iter().flatten().map(returned).sum()
    }

    /// Whether nothing is left to read.
    pub fn at_end(&mut self, handle: i64) -> Result<bool, String> {
        let (reader, returned) = self.reader(handle)?;
        if !returned.is_empty() {
            return Ok(false);
        }
        reader.fill_buf().map(<[u8]>::is_empty).map_err(|error| error.to_string())
    }

    /// Writes out what is buffered.
    pub fn flush_one(&mut self, handle: i64) -> Result<(), String> {
        match self.stream(handle)? {
            Stream::Writer(writer) => writer.flush().map_err(|error| error.to_string()),
            Stream::Reader { .. } => Ok(()),
        }
    }

    /// Closes a stream.
    pub fn close(&mut self, handle: i64) -> Result<(), String> {
        self.flush_one(handle)?;
        self.streams[handle as usize] = None;
        Ok(())
    }

    /// Writes out everything; what cannot be written is lost with its stream.
    pub fn flush(&mut self) {
        if !std::mem::take(&mut self.written) {
            return;
        }
        for stream in self.streams.iter_mut().flatten() {
            if let Stream::Writer(writer) = stream {
                let _ = writer.flush();
            }
        }
    }
}
