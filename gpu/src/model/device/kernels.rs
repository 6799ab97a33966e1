//! Kernels bound to their buffers.

use crate::device::{DeviceError, Gpu};
use std::collections::BTreeMap;
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry,
    BindingResource, BindingType, Buffer, BufferBinding, BufferBindingType, BufferSize, ComputePass, ComputePipeline,
    ShaderStages, StorageTextureAccess, TextureFormat, TextureSampleType, TextureView, TextureViewDimension,
};

/// Bytes between blocks of the uniform buffer that says which rows are meant: WebGPU's alignment of dynamic offsets.
pub(super) const ROWS_STRIDE: u64 = 256;
const ROWS_BYTES: u64 = 16;

/// What a kernel reads and writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Resource<'a> {
    Uniform(&'a Buffer),
    Read(&'a Buffer),
    Write(&'a Buffer),
    /// Fours of whole numbers.
    Codes(&'a TextureView),
    /// Fours of f32.
    Numbers(&'a TextureView),
    /// Fours of f32, to be written.
    Put(&'a TextureView),
}

impl Resource<'_> {
    fn kind(self) -> BindingType {
        let buffer = |ty| BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None };
        let texture = |sample_type| BindingType::Texture {
            sample_type,
            view_dimension: TextureViewDimension::D2,
            multisampled: false,
        };
        match self {
            Self::Uniform(_) => buffer(BufferBindingType::Uniform),
            Self::Read(_) => buffer(BufferBindingType::Storage { read_only: true }),
            Self::Write(_) => buffer(BufferBindingType::Storage { read_only: false }),
            Self::Codes(_) => texture(TextureSampleType::Uint),
            Self::Numbers(_) => texture(TextureSampleType::Float { filterable: false }),
            Self::Put(_) => BindingType::StorageTexture {
                access: StorageTextureAccess::WriteOnly,
                format: TextureFormat::Rgba32Float,
                view_dimension: TextureViewDimension::D2,
            },
        }
    }

    fn resource(&self) -> BindingResource<'_> {
        match self {
            Self::Uniform(buffer) | Self::Read(buffer) | Self::Write(buffer) => buffer.as_entire_binding(),
            Self::Codes(view) | Self::Numbers(view) | Self::Put(view) => BindingResource::TextureView(view),
        }
    }
}

/// A kernel with its buffers.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pipeline: ComputePipeline,
    group: BindGroup,
}

impl Bound {
    pub(super) fn run(&self, pass: &mut ComputePass<'_>, groups: [u32; 2]) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(groups[0], groups[1], 1);
    }
}

/// Pipelines by their sources.
#[derive(Debug)]
pub(super) struct Kernels {
    made: BTreeMap<String, (ComputePipeline, BindGroupLayout)>,
    rows_layout: BindGroupLayout,
}

impl Kernels {
    pub(super) fn new(gpu: &Gpu) -> Self {
        let ty =
            BindingType::Buffer { ty: BufferBindingType::Uniform, has_dynamic_offset: true, min_binding_size: None };
        let descriptor = BindGroupLayoutDescriptor { label: Some("rows"), entries: &[entry(0, ty)] };
        Self { made: BTreeMap::new(), rows_layout: gpu.device().create_bind_group_layout(&descriptor) }
    }

    /// The buffer that says which rows are meant, as the second group of every kernel.
    pub(super) fn rows(&self, gpu: &Gpu, buffer: &Buffer) -> BindGroup {
        let size = BufferSize::new(ROWS_BYTES);
        let resource = BindingResource::Buffer(BufferBinding { buffer, offset: 0, size });
        let entries = [BindGroupEntry { binding: 0, resource }];
        let descriptor = BindGroupDescriptor { label: Some("rows"), layout: &self.rows_layout, entries: &entries };
        gpu.device().create_bind_group(&descriptor)
    }

    /// Compiles the function `name` of a source, unless it was before, and binds it to `resources`, each at its binding.
    pub(super) async fn bind(
        &mut self,
        gpu: &Gpu,
        name: &str,
        source: String,
        resources: &[(u32, Resource<'_>)],
    ) -> Result<Bound, DeviceError> {
        let (pipeline, layout) = if let Some(made) = self.made.get(&source) {
            made.clone()
        } else {
            let entries: Vec<_> = resources.iter().map(|(binding, of)| entry(*binding, of.kind())).collect();
            let descriptor = BindGroupLayoutDescriptor { label: Some(name), entries: &entries };
            let layout = gpu.device().create_bind_group_layout(&descriptor);
            let pipeline = gpu.pipeline(name, &source, name, &[&layout, &self.rows_layout]).await?;
            self.made.insert(source, (pipeline.clone(), layout.clone()));
            (pipeline, layout)
        };
        let entries: Vec<_> = resources
            .iter()
            .map(|(binding, of)| BindGroupEntry { binding: *binding, resource: of.resource() })
            .collect();
        let descriptor = BindGroupDescriptor { label: Some(name), layout: &layout, entries: &entries };
        Ok(Bound { pipeline, group: gpu.device().create_bind_group(&descriptor) })
    }
}

fn entry(binding: u32, ty: BindingType) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry { binding, visibility: ShaderStages::COMPUTE, ty, count: None }
}
