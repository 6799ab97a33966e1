//! Bytes from the device to here.

use std::ops::Range;

use futures_channel::oneshot;
use wgpu::{Buffer, BufferDescriptor, BufferUsages, MapMode};

use super::Gpu;
use super::error::{DeviceError, Scopes};

/// A staging buffer of up to this many bytes is kept for the next read.
const KEPT: u64 = 1 << 20;

/// Where the parts of a read lie.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// For each part: where its copy starts in its buffer and in the staging buffer, the copy's bytes, and where the part
    /// is within them. Copies start and end at multiples of four.
    copies: Vec<Copy>,
    /// Bytes of the staging buffer.
    total: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Copy {
    from: u64,
    to: u64,
    bytes: u64,
    part: Range<usize>,
}

impl Plan {
    /// `parts` are ranges of buffers of the sizes beside them.
    fn new(parts: impl IntoIterator<Item = (u64, Range<u64>)>) -> Result<Self, String> {
        let mut total = 0;
        let mut copies = Vec::new();
        for (size, Range { start, end }) in parts {
            if start > end || end > size {
                return Err(format!("bytes {start} to {end} of a buffer of {size}"));
            }
            let (from, bytes) =
                if start == end { (0, 0) } else { (start & !3, end.next_multiple_of(4) - (start & !3)) };
            if from + bytes > size {
                return Err(format!("bytes {start} to {end} of a buffer of {size}, which is no multiple of 4"));
            }
            let skip = (start - from) as usize;
            let part = if start == end { 0..0 } else { skip..skip + (end - start) as usize };
            copies.push(Copy { from, to: total, bytes, part });
            total += bytes;
        }
        Ok(Self { copies, total })
    }
}

impl Gpu {
    /// Bytes of a buffer that was made with `COPY_SRC`, after all that was submitted before.
    ///
    /// Natively the thread waits; in a browser the future does.
    pub async fn read(&self, buffer: &Buffer, range: Range<u64>) -> Result<Vec<u8>, DeviceError> {
        let mut parts = self.read_many(&[(buffer, range)]).await?;
        Ok(parts.pop().unwrap_or_default())
    }

    /// Several ranges, of several buffers or one, in one go: each read waits for the device once.
    pub async fn read_many(&self, parts: &[(&Buffer, Range<u64>)]) -> Result<Vec<Vec<u8>>, DeviceError> {
        self.check()?;
        let plan = Plan::new(parts.iter().map(|(buffer, range)| (buffer.size(), range.clone())));
        let plan = plan.map_err(|message| invalid(&message))?;
        if plan.total == 0 {
            return Ok(vec![Vec::new(); parts.len()]);
        }
        self.fits("a read", plan.total, BufferUsages::MAP_READ)?;
        let kept = {
            let mut kept = self.staging.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if kept.as_ref().is_some_and(|kept| kept.size() >= plan.total) { kept.take() } else { None }
        };

        let scopes = Scopes::open(&self.device, &self.faults);
        let staging = kept.unwrap_or_else(|| {
            self.device.create_buffer(&BufferDescriptor {
                label: Some("read"),
                size: if plan.total <= KEPT { plan.total.next_power_of_two() } else { plan.total },
                usage: BufferUsages::MAP_READ | BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        });
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for ((buffer, _), Copy { from, to, bytes, .. }) in parts.iter().zip(&plan.copies) {
            if *bytes > 0 {
                encoder.copy_buffer_to_buffer(buffer, *from, &staging, *to, *bytes);
            }
        }
        self.queue.submit([encoder.finish()]);
        let (sender, mapped) = oneshot::channel();
        let slice = staging.slice(..plan.total);
        slice.map_async(MapMode::Read, move |result| {
            // Nobody waits any longer where the read was given up.
            sender.send(result).ok();
        });
        let caught = scopes.close("a read", Some(plan.total));

        let mapped = self.done(mapped).await;
        let mapped = match mapped {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(invalid("the copy could not be mapped")),
        };
        // What was computed after an error may not be used.
        if let Err(error) = caught.await.and(self.check()).and(mapped) {
            staging.destroy();
            return Err(self.cause(error).await);
        }
        let view = slice.get_mapped_range().map_err(|error| invalid(&error.to_string()))?;
        let read =
            plan.copies.iter().map(|Copy { to, part, .. }| view[*to as usize..][part.clone()].to_vec()).collect();
        drop(view);
        staging.unmap();
        self.keep(staging);
        Ok(read)
    }

    /// Keeps a staging buffer for the next read. What is not kept must be destroyed: browsers free a dropped buffer only
    /// when JavaScript's collector comes by.
    fn keep(&self, staging: Buffer) {
        let mut slot = self.staging.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let worth_it = staging.size() <= KEPT && slot.as_ref().is_none_or(|kept| kept.size() < staging.size());
        let rest = if worth_it { slot.replace(staging) } else { Some(staging) };
        if let Some(rest) = rest {
            rest.destroy();
        }
    }
}

fn invalid(message: &str) -> DeviceError {
    DeviceError::Validation { what: "a read".into(), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::{Copy, Plan};

    #[test]
    fn copies_start_and_end_at_words_and_parts_where_they_were_asked_for() {
        let plan = Plan::new([(16, 0..16), (16, 5..7), (16, 3..3), (16, 3..9)]).unwrap();
        let copy = |from, to, bytes, part| Copy { from, to, bytes, part };
        assert_eq!(
            plan.copies,
            [copy(0, 0, 16, 0..16), copy(4, 16, 4, 1..3), copy(0, 20, 0, 0..0), copy(0, 20, 12, 3..9)]
        );
        assert_eq!(plan.total, 32);
    }

    #[test]
    fn what_is_not_in_the_buffer_is_not_read() {
        for (size, range) in [(16, 0..17), (16, 17..17), (0, 0..1), (16, u64::MAX..u64::MAX), (18, 16..18)] {
            assert!(Plan::new([(size, range.clone())]).is_err(), "{range:?} of {size}");
        }
        #[expect(clippy::reversed_empty_ranges, reason = "what a caller may get wrong")]
        let backwards = 8..4;
        assert!(Plan::new([(16, backwards)]).is_err());
        assert!(Plan::new([(18, 0..16)]).is_ok());
    }
}
