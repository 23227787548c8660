//! Ctrl-C, SIGTERM and SIGHUP. The first one ends the work in order, and the second one at once. So
//! does time, because the work may wait for something that never answers.

use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pgsluice::control::Control;
use pgsluice::{Error, Kind, Result};

use crate::exit;
use crate::output::say;

/// How long work that was told to end may take until the program ends without it.
const END_TIMEOUT: Duration = Duration::from_millis(1_800);

/// What a signal does. A process has one handler, however often Python runs the command line.
static ACTION: Mutex<Option<Action>> = Mutex::new(None);

type Action = Box<dyn FnMut() + Send>;

/// Signals have their action until this is dropped. After that they end the program.
pub(crate) struct Watch(());

impl Drop for Watch {
    fn drop(&mut self) {
        *action() = None;
    }
}

/// Has signals stop the work that looks at `control`. `last_words` are said of work that does not
/// end in time.
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
    // Held to the end: who has something else to say waits for it.
    let action = action();
    if action.is_some() {
        say(&format!("error: {}", last_words(control)));
        process::exit(exit::INTERRUPTED.into());
    }
}

/// Has each signal call `act`.
pub(crate) fn on_signal(act: impl FnMut() + Send + 'static) -> Result<Watch> {
    *action() = Some(Box::new(act));
    let handler = || match &mut *action() {
        Some(act) => act(),
        None => process::exit(exit::INTERRUPTED.into()),
    };
    match ctrlc::set_handler(handler) {
        // It is this one, from an earlier run in the same process.
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
