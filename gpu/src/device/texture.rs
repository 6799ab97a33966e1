//! Textures of fours, which hold numbers and no pictures: some devices read them much faster than buffers.

use super::error::Scopes;
use super::{Allocation, DeviceError};
use wgpu::{Extent3d, Texture, TextureDescriptor, TextureDimension, TextureFormat, TextureUsages};

/// Bytes of a four.
pub const TEXEL_BYTES: u64 = 16;

impl Allocation<'_> {
    /// Asks for a texture of fours of 32 bits, `width` by `height`, of zeros.
    pub fn texture(
        &mut self,
        label: &str,
        format: TextureFormat,
        [width, height]: [u32; 2],
        usage: TextureUsages,
    ) -> Result<Texture, DeviceError> {
        self.gpu.check()?;
        let most = self.gpu.limits().max_texture_dimension_2d;
        let bytes = TEXEL_BYTES * u64::from(width) * u64::from(height);
        if width.max(height) > most {
            let most = TEXEL_BYTES * u64::from(most) * u64::from(most);
            return Err(DeviceError::TooLarge { what: label.into(), bytes, limit: "maxTextureDimension2D", most });
        }
        let scopes = Scopes::open(&self.gpu.device, &self.gpu.faults);
        let texture = self.gpu.device.create_texture(&TextureDescriptor {
            label: Some(label),
            size: Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: TextureDimension::D2,
            format,
            usage,
            view_formats: &[],
        });
        self.waiting.push(Box::pin(scopes.close(label, Some(bytes))));
        Ok(texture)
    }
}
