//! Progress of long work: a bar on stderr, only where that is a terminal, and only once the work has taken a moment.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Work that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(300);

pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: bool,
}

impl Progress {
    /// Work of so many steps.
    pub(crate) fn new(what: &'static str, steps: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg:<20} {wide_bar} {percent:>3}% {eta:>4}") {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self { bar, started: Instant::now(), shown: false }
    }

    /// The same, for work whose result goes to standard output: a bar would stand in its way on a terminal.
    pub(crate) fn beside_output(what: &'static str, steps: usize) -> Self {
        let mut progress = Self::new(what, steps);
        progress.shown = std::io::stdout().is_terminal();
        progress
    }

    /// So many steps are done, in all.
    pub(crate) fn at(&mut self, step: usize) {
        self.bar.set_position(step as u64);
        if !self.shown && self.started.elapsed() > PATIENCE {
            // Hidden still where stderr is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
