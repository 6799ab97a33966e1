//! Work on several cores, and for the vector instructions that there are. Where there is one thread, in browsers, things happen one
//! after the other.

/// The threads that a model runs on.
#[derive(Clone, Debug)]
pub(crate) struct Threads {
    #[cfg(not(target_arch = "wasm32"))]
    pool: std::sync::Arc<rayon::ThreadPool>,
}

impl Threads {
    /// Starts `count` of them, or as many as there are cores; where there are none to start, there is the one that asks.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn new(count: Option<usize>) -> Result<Self, String> {
        let count = count.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1).max(1);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().map_err(|error| error.to_string())?;
        Ok(Self { pool: pool.into() })
    }

    /// There is one.
    #[cfg(target_arch = "wasm32")]
    #[allow(clippy::unnecessary_wraps, reason = "elsewhere starting them may fail")]
    pub(crate) fn new(_: Option<usize>) -> Result<Self, String> {
        Ok(Self {})
    }

    /// Runs `act` on one of them, and what it does to each of some elements on all.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn run<R: Send>(&self, act: impl FnOnce() -> R + Send) -> R {
        self.pool.install(act)
    }

    /// Runs `act`.
    #[cfg(target_arch = "wasm32")]
    #[allow(clippy::unused_self, reason = "elsewhere they run it")]
    pub(crate) fn run<R>(&self, act: impl FnOnce() -> R) -> R {
        act()
    }
}

/// Does something to each element, in any order.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn each<T: Send>(elements: &mut [T], act: impl Fn(&mut T) + Send + Sync) {
    use rayon::prelude::*;
    if elements.len() < 2 || rayon::current_num_threads() < 2 {
        elements.iter_mut().for_each(act);
    } else {
        elements.par_iter_mut().with_max_len(1).for_each(act);
    }
}

/// Does something to each element, in order.
#[cfg(target_arch = "wasm32")]
pub(crate) fn each<T>(elements: &mut [T], act: impl Fn(&mut T)) {
    elements.iter_mut().for_each(act);
}

/// Work that is compiled for more than one set of vector instructions. What [`Task::run`] inlines is, so all of it is to be
/// inlined always. (A closure would not do: the shim that calls it is not.)
pub(crate) trait Task {
    /// What comes of it.
    type Output;

    /// Does it, with these instructions.
    fn run<S: pulp::Simd>(self, simd: S) -> Self::Output;
}

struct Vectorised<T>(T);

impl<T: Task> pulp::WithSimd for Vectorised<T> {
    type Output = T::Output;

    #[allow(clippy::inline_always, reason = "it is compiled for the instructions of `S`")]
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> T::Output {
        self.0.run(simd)
    }
}

/// Does something with the best vector instructions that the machine has. None of them fuses a * b + c: the compiler does not where
/// it was not told to.
pub(crate) fn vectorised<T: Task>(task: T) -> T::Output {
    // By name: pulp finds 16 lanes on some machines where any crate asks it to, and never finds the older 4.
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return pulp::Simd::vectorize(simd, Vectorised(task));
    } else if let Some(simd) = pulp::x86::V2::try_new() {
        return pulp::Simd::vectorize(simd, Vectorised(task));
    }
    pulp::Arch::new().dispatch(Vectorised(task))
}
