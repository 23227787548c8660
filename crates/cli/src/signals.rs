//! Ctrl-C, SIGTERM and SIGHUP. The first signal stops the work in an orderly way, the second one at once. A
//! timeout does the same, because the work may wait for something that never answers.

use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pgsluice::control::Control;
use pgsluice::{Error, Kind, Result};

use crate::exit;
use crate::output::say;

/// The longest time that stopped work may take before the program ends without waiting for it.
const END_TIMEOUT: Duration = Duration::from_millis(1_800);

/// The action of a signal. A process has one handler, however often Python runs the command line.
static ACTION: Mutex<Option<Action>> = Mutex::new(None);

type Action = Box<dyn FnMut() + Send>;

/// A guard: signals trigger their action until it is dropped. After that they end the program.
pub(crate) struct Watch(());

impl Drop for Watch {
    fn drop(&mut self) {
        *action() = None;
    }
}

/// Makes signals stop the work of `control`. If the work does not end in time, prints `last_words`.
pub(crate) fn stop(control: &Arc<Control>, last_words: fn(&Control) -> Error) -> Result<Watch> {
    let control = Arc::clone(control);
    let mut asked = false;
    on_signal(move || {
        if asked {
            process::exit(exit::INTERRUPTED.into());
        }
        asked = true;
        control.stop.interrupt();
        let control = Arc::clone(&control);
        thread::spawn(move || give_up(&control, last_words));
    })
}

fn give_up(control: &Control, last_words: fn(&Control) -> Error) {
    thread::sleep(END_TIMEOUT);
    // Held until the end, so that other messages wait.
    let action = action();
    if action.is_some() {
        let error = last_words(control);
        control.finish(control.rows_in(), Some(&error));
        say(&format!("error: {error}"));
        process::exit(exit::INTERRUPTED.into());
    }
}

/// Makes each signal call `act`.
pub(crate) fn on_signal(act: impl FnMut() + Send + 'static) -> Result<Watch> {
    *action() = Some(Box::new(act));
    let handler = || match &mut *action() {
        Some(act) => act(),
        None => process::exit(exit::INTERRUPTED.into()),
    };
    match ctrlc::set_handler(handler) {
        // The handler was set by an earlier run in the same process.
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(Watch(())),
        Err(error) => {
            let message = format!("could not watch for Ctrl-C: {error}");
            Err(Error::new(Kind::Input, message))
        }
    }
}

fn action() -> MutexGuard<'static, Option<Action>> {
    ACTION.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_run_one_command_after_another() {
        for _ in 0..2 {
            let watch = stop(&Arc::default(), |_| Error::interrupted());
            assert!(watch.is_ok() && action().is_some());
            drop(watch);
            assert!(action().is_none());
        }
    }
}
