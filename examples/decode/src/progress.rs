//! Progress of long work: a bar on stderr, only where that is a terminal, and only once the work has taken a moment.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
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
    pub(crate) fn new(what: &'static str, steps: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{prefix:<8} {wide_bar} {percent:>3}% {eta:>4}  {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(what);
        Self { bar, started: Instant::now(), shown: false }
    }

    /// So many steps are done, in all.
    pub(crate) fn at(&mut self, step: u64) {
        self.bar.set_position(step);
        if !self.shown && self.started.elapsed() > PATIENCE {
            // Hidden still where stderr is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
    }

    /// So many steps there are, as is known now.
    pub(crate) fn of(&mut self, steps: u64) {
        self.bar.set_length(steps);
    }

    /// What stands behind the bar.
    pub(crate) fn say(&self, text: String) {
        self.bar.set_message(text);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
