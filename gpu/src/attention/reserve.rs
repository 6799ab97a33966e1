//! The cache of native mode grows.

use super::layer::{Layer, Shared};
use super::{Attention, AttentionError, plans, shared};
use crate::device::Gpu;
use wgpu::{Buffer, CommandEncoder, CommandEncoderDescriptor};

impl Attention {
    /// Makes room for at least `tokens` tokens in native mode, twice of what was there where that fits the device; in constant
    /// state there is always room. What was read stays, drafts and passes that wait are
    /// forgotten, and [`Attention::io`] stays the same. [`Attention::rows`] may become fewer.
    ///
    /// Copies the cache on the device, so that growing token by token costs O(1) a token on average; while it does, both are
    /// there. After an error the old one still is.
    pub async fn reserve(&mut self, gpu: &Gpu, tokens: u32) -> Result<(), AttentionError> {
        let Some(capacity) = self.rules.capacity.filter(|&capacity| capacity < tokens) else { return Ok(()) };
        let setups: Vec<_> = self.layers.iter().map(|layer| layer.setup.clone()).collect();
        let mut wanted = self.rules.wanted;
        wanted.capacity = tokens.max(capacity.saturating_mul(2));
        let roomy = plans(gpu.limits(), &setups, wanted);
        let plans = roomy.or_else(|_| {
            wanted.capacity = tokens;
            plans(gpu.limits(), &setups, wanted)
        })?;
        let (mut scratch, uniforms) = shared(gpu, &plans).await?;
        uniforms.destroy();
        keep_io(&mut scratch, &self.shared);
        let mut layers = Vec::with_capacity(plans.len());
        for (setup, plan) in setups.into_iter().zip(plans) {
            layers.push(Layer::new(gpu, &mut self.pipelines, setup, plan, &scratch).await?);
        }
        let mut encoder = gpu.device().create_command_encoder(&CommandEncoderDescriptor::default());
        for (old, new) in self.layers.iter().zip(&layers) {
            copy(&mut encoder, old, new, self.clock.tokens);
        }
        gpu.queue().submit([encoder.finish()]);
        gpu.finished().await?;

        let old = self.layers.iter().flat_map(|layer| layer.own.all());
        old.chain(self.shared.scratch()).for_each(Buffer::destroy);
        let rows = layers.first().map_or(1, |layer| layer.plan.rows);
        self.rules.rows = self.rules.rows.min(rows);
        self.rules.capacity = layers.first().and_then(Layer::capacity);
        self.rules.wanted = wanted;
        self.waiting = None;
        self.epoch += 1;
        (self.layers, self.shared) = (layers, scratch);
        Ok(())
    }
}

/// The caller has bound these.
fn keep_io(new: &mut Shared, old: &Shared) {
    let kept = [&old.queries, &old.keys, &old.values, &old.out, &old.surprises_in, &old.surprises];
    let own =
        [&mut new.queries, &mut new.keys, &mut new.values, &mut new.out, &mut new.surprises_in, &mut new.surprises];
    for (own, kept) in own.into_iter().zip(kept) {
        own.destroy();
        own.clone_from(kept);
    }
}

/// Copies the rows of all heads, and the count of what did not fit its storage.
fn copy(encoder: &mut CommandEncoder, old: &Layer, new: &Layer, tokens: u32) {
    let config = &old.setup.config;
    let row = u64::from(config.shape().head_dim * config.storage().size());
    for (&from, &to) in old.plan.first_rows.iter().zip(&new.plan.first_rows) {
        let (from, to, bytes) = (u64::from(from) * row, u64::from(to) * row, u64::from(tokens) * row);
        encoder.copy_buffer_to_buffer(&old.own.keys, from, &new.own.keys, to, bytes);
        encoder.copy_buffer_to_buffer(&old.own.values, from, &new.own.values, to, bytes);
    }
    encoder.copy_buffer_to_buffer(&old.own.overflows, 0, &new.own.overflows, 0, 4);
}
