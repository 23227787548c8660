//! Inputs that can be read only once, copied into temporary files for loads that must read them again.

use std::io::{self, Read, Write};
use std::sync::Arc;

use pgsluice_core::hash::bytes_extended;
use tempfile::{NamedTempFile, TempPath};

use super::inputs::{Input, Inputs};
use super::interruptible::unless_stopped;
use crate::control::{Control, WaitReason};
use crate::error::kind::Kind;
use crate::error::{Error, Result, plain_io};

/// The number of bytes that are read and hashed together.
const BLOCK: u64 = 1 << 20;

impl Inputs {
    /// Returns these inputs with every input that cannot be read again copied into a file.
    pub(crate) fn spool(&self, control: &Arc<Control>) -> Result<Self> {
        self.spool_if(|input| !input.is_rereadable(), control)
    }

    /// Returns these inputs with every input that is neither a file nor batches copied into a file.
    ///
    /// # Errors
    ///
    /// Fails if an input cannot be read, or if its copy does not fit on the disk.
    pub fn keep_as_files(&self, control: &Arc<Control>) -> Result<Self> {
        self.spool_if(|input| !input.is_rereadable() && input.caller_batches().is_none(), control)
    }

    fn spool_if(
        &self,
        needs_copy: impl Fn(&Input) -> bool,
        control: &Arc<Control>,
    ) -> Result<Self> {
        if !self.iter().any(&needs_copy) {
            return Ok(self.clone());
        }
        control.wait_for(WaitReason::Input, "reading the input to its end");
        let spooled = self.iter().map(|input| match needs_copy(input) {
            false => Ok(input.clone()),
            true => spool_input(input, control),
        });
        let spooled = spooled.collect::<Result<Vec<_>>>();
        control.resume(WaitReason::Input);
        Ok(self.with_list(spooled?))
    }
}

/// The file, its size in bytes, and its hash in base 16.
pub(super) type SpoolFile = (TempPath, u64, String);

/// Copies an input.
fn spool_input(input: &Input, control: &Arc<Control>) -> Result<Input> {
    let (reading, copying) = (input.clone(), Arc::clone(control));
    let copied = unless_stopped(control, move || match reading.caller_batches() {
        Some(batches) => batches.spool(&reading, &copying),
        None => copy(&reading, &copying),
    });
    let (path, bytes, content) = copied?;
    Ok(input.with_spool_file(path, bytes, &content))
}

fn copy(input: &Input, control: &Control) -> Result<SpoolFile> {
    let mut source = input.open()?;
    let mut file = NamedTempFile::new().map_err(|error| no_room(input, &error))?;
    let (mut bytes, mut hash) = (0, 0);
    let mut block = Vec::new();
    while !control.stop.is_stopped() {
        block.clear();
        let read = source.by_ref().take(BLOCK).read_to_end(&mut block);
        if read.map_err(|error| input.cannot_read(&error))? == 0 {
            break;
        }
        bytes += block.len() as u64;
        hash = bytes_extended(&block, hash);
        file.write_all(&block).map_err(|error| no_room(input, &error))?;
    }
    Ok((file.into_temp_path(), bytes, format!("{hash:016x}")))
}

pub(super) fn no_room(input: &Input, error: &io::Error) -> Error {
    let reason = plain_io(error);
    let message = format!("could not copy \"{}\" to a temporary file: {reason}", input.name);
    Error::new(Kind::Input, message)
        .with_detail("This load must be able to read its input again.")
        .with_hint("Set TMPDIR to a directory with enough space, or load a file.")
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_pipe_is_copied_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let text = "1,2\n".repeat(700_000);
        let (writer, written) = (path.clone(), text.clone());
        let writing = thread::spawn(move || std::fs::write(writer, written));
        let inputs = Inputs::resolve([path.display().to_string()]).expect("a pipe");
        assert!(!inputs.are_rereadable());
        let copied = inputs.spool(&Arc::default()).expect("a file");
        writing.join().expect("a thread").expect("a reader");
        assert!(copied.are_rereadable());
        assert_eq!(
            (copied[0].name.clone(), copied.size()),
            (path.display().to_string(), Some(text.len() as u64))
        );
        for _ in 0..2 {
            let mut again = String::new();
            copied[0].open().expect("a file").read_to_string(&mut again).expect("text");
            assert!(again == text);
        }
    }
}
