//! The device: it computes what it should, and each thing that can go wrong is a typed error.

pub mod common;

use common::harness::{open, options, report};
use mrail_gpu::device::{DeviceError, Gpu, Limit, Options, Software};
use wgpu::BufferUsages;

const INPUT: BufferUsages = BufferUsages::STORAGE.union(BufferUsages::COPY_DST);
const OUTPUT: BufferUsages = BufferUsages::STORAGE.union(BufferUsages::COPY_SRC);

/// Runs `body` for each `i` below the number of outputs: `a` is the input, `b` the output, both of 32 bits.
async fn compute(gpu: &Gpu, body: &str, input: &[u32], outputs: u32) -> Result<Vec<u32>, DeviceError> {
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read> a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> b: array<u32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
            let i = id.x;
            if i >= {outputs}u {{ return; }}
            {body}
        }}"
    );
    let pipeline = gpu.pipeline("test", &wgsl, "main", &[]).await?;
    let a = gpu.buffer("a", input.len() as u64 * 4, INPUT).await?;
    let b = gpu.buffer("b", u64::from(outputs) * 4, OUTPUT).await?;
    gpu.write(&a, 0, bytemuck::cast_slice(input))?;
    let entry = |binding, buffer| wgpu::BindGroupEntry { binding, resource: wgpu::Buffer::as_entire_binding(buffer) };
    let bind_group = gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[entry(0, &a), entry(1, &b)],
    });
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &bind_group, &[]);
    pass.dispatch_workgroups(outputs.div_ceil(64), 1, 1);
    drop(pass);
    gpu.queue().submit([encoder.finish()]);
    let bytes = gpu.read(&b, 0..b.size()).await?;
    Ok(bytemuck::pod_collect_to_vec(&bytes))
}

/// Numbers of 32 bits in a fixed order that looks like none.
fn scattered(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|i| {
        let mut x = i.wrapping_mul(0x9e37_79b9) ^ 0x5bd1_e995;
        x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
        x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
        x ^ (x >> 16)
    })
}

/// Finite floats whose sums and products stay far from the smallest and the largest.
fn floats(count: u32) -> Vec<f32> {
    let of = |bits: u32| f32::from_bits((bits & 0x807f_ffff) | ((112 + (bits >> 23) % 32) << 23));
    scattered(count).map(of).collect()
}

fn bits(floats: &[f32]) -> Vec<u32> {
    floats.iter().map(|x| x.to_bits()).collect()
}

device_tests! {
    async fn the_device_says_who_it_is(gpu: &Gpu) {
        let info = gpu.info();
        report(&format!("device: {info}; there: {}", info.candidates.join("; ")));
        assert!(!info.candidates.is_empty());
        assert_eq!(*gpu.limits(), wgpu::Limits::defaults());
    }

    async fn a_shader_computes(gpu: &Gpu) -> Result<(), DeviceError> {
        let input: Vec<u32> = scattered(1000).collect();
        let output = compute(gpu, "b[i] = a[i] * 3u + i;", &input, 1000).await?;
        let right: Vec<u32> = (0..).zip(&input).map(|(i, a)| a.wrapping_mul(3).wrapping_add(i)).collect();
        assert_eq!(output, right);
        Ok(())
    }

    async fn halves_are_unpacked_to_the_bit(gpu: &Gpu) -> Result<(), DeviceError> {
        let input: Vec<u32> = (0..=0xffff).collect();
        let output = compute(gpu, "b[i] = bitcast<u32>(unpack2x16float(a[i] << 16u).y);", &input, 0x1_0000).await?;
        let finite = (0..=u16::MAX).map(half::f16::from_bits).zip(&output).filter(|(half, _)| half.is_finite());
        let wrong: Vec<_> = finite.filter(|(half, got)| half.to_f32().to_bits() != **got).collect();
        let subnormal = wrong.iter().filter(|(half, _)| !half.is_normal()).count();
        assert!(wrong.is_empty(), "{} wrong, {subnormal} of them subnormal, such as {:?}", wrong.len(), &wrong[0]);
        Ok(())
    }

    async fn sums_products_and_floors_are_those_of_the_processor(gpu: &Gpu) -> Result<(), DeviceError> {
        let x = floats(4096);
        let body = "let x = bitcast<f32>(a[i]);
            let y = bitcast<f32>(a[i + 1u]);
            b[4u * i] = bitcast<u32>(x + y);
            b[4u * i + 1u] = bitcast<u32>(x * y);
            b[4u * i + 2u] = bitcast<u32>(floor(x * 100.0));
            b[4u * i + 3u] = bitcast<u32>(f32(i32(a[i] >> 8u)) - y);";
        let body = format!("if i >= 4095u {{ return; }} {body}");
        let output = compute(gpu, &body, &bits(&x), 4 * 4095).await?;
        for (i, got) in output.chunks_exact(4).enumerate() {
            let (x, y) = (x[i], x[i + 1]);
            let integer = (x.to_bits() >> 8) as f32;
            assert_eq!(got, bits(&[x + y, x * y, (x * 100.0).floor(), integer - y]), "{x} and {y}");
        }
        Ok(())
    }

    async fn whether_products_are_rounded_before_a_sum_is_told(gpu: &Gpu) -> Result<(), DeviceError> {
        let x = floats(3 * 1024);
        let body = "b[i] = bitcast<u32>(bitcast<f32>(a[i]) * bitcast<f32>(a[i + 1024u]) + bitcast<f32>(a[i + 2048u]));";
        let output = compute(gpu, body, &bits(&x), 1024).await?;
        let of = |f: fn(f32, f32, f32) -> f32| (0..1024).map(|i| f(x[i], x[i + 1024], x[i + 2048]).to_bits()).collect();
        let (apart, fused): (Vec<u32>, Vec<u32>) = (of(|a, b, c| a * b + c), of(f32::mul_add));
        assert_ne!(apart, fused);
        report(if output == apart { "a * b + c: rounded twice" } else { "a * b + c: fused" });
        assert!(output == apart || output == fused);
        Ok(())
    }

    /// WGSL leaves these to the device; what is built on them would differ from one to the other.
    async fn how_other_functions_are_rounded_is_told(gpu: &Gpu) -> Result<(), DeviceError> {
        type Function = (&'static str, fn(f64) -> f64);
        let functions: [Function; 5] = [
            ("x / 3.0", |x| x / 3.0),
            ("1.0 / x", |x| 1.0 / x),
            ("exp(x / 64.0)", |x| (x / 64.0).exp()),
            ("log(abs(x) + 2.0)", |x| (x.abs() + 2.0).ln()),
            ("inverseSqrt(abs(x) + 1.0)", |x| 1.0 / (x.abs() + 1.0).sqrt()),
        ];
        // Such that sums and quotients inside the functions are exact.
        let x: Vec<f32> = (1..=2048_i16).map(|i| f32::from(i - 1024) + 0.5).collect();
        for (text, function) in functions {
            let body = format!("let x = bitcast<f32>(a[i]); b[i] = bitcast<u32>({text});");
            let output = compute(gpu, &body, &bits(&x), 2048).await?;
            let apart = x.iter().zip(&output).map(|(&x, &got)| {
                let right = function(f64::from(x)) as f32;
                right.to_bits().abs_diff(got)
            });
            let (differ, most) = apart.fold((0, 0), |(n, most), apart| (n + u32::from(apart > 0), apart.max(most)));
            report(&format!("{text}: {differ} of 2048 not rounded to the nearest, by up to {most} last places"));
            assert!(most < 1 << 12, "{text} is {most} last places off");
        }
        Ok(())
    }

    async fn parts_are_read_back(gpu: &Gpu) -> Result<(), DeviceError> {
        let buffer = gpu.buffer("bytes", 255, BufferUsages::COPY_SRC | BufferUsages::COPY_DST).await?;
        assert_eq!(buffer.size(), 256);
        assert_eq!(gpu.read(&buffer, 0..256).await?, [0; 256]);
        let bytes: Vec<u8> = (0..=255).collect();
        gpu.write(&buffer, 0, &bytes)?;
        assert_eq!(gpu.read(&buffer, 5..11).await?, bytes[5..11]);
        gpu.write(&buffer, 8, &[9; 4])?;
        let parts = gpu.read_many(&[(&buffer, 6..10), (&buffer, 3..3), (&buffer, 253..256), (&buffer, 0..256)]).await?;
        assert_eq!(parts[..3], [vec![6, 7, 9, 9], vec![], vec![253, 254, 255]]);
        assert_eq!((parts[3].len(), &parts[3][12..]), (256, &bytes[12..]));
        // Larger than what is kept between reads.
        let large = gpu.buffer("large", 3 << 20, BufferUsages::COPY_SRC | BufferUsages::COPY_DST).await?;
        gpu.write(&large, (3 << 20) - 4, &[1, 2, 3, 4])?;
        assert_eq!(gpu.read(&large, 0..3 << 20).await?[(3 << 20) - 3..], [2, 3, 4]);
        assert_eq!(gpu.read(&buffer, 8..12).await?, [9; 4]);
        Ok(())
    }

    async fn what_is_outside_a_buffer_is_an_error(gpu: &Gpu) -> Result<(), DeviceError> {
        let buffer = gpu.buffer("bytes", 16, BufferUsages::COPY_SRC | BufferUsages::COPY_DST).await?;
        let invalid = |result| matches!(result, Err(DeviceError::Validation { .. }));
        assert!(invalid(gpu.read(&buffer, 8..20).await.map(drop)));
        assert!(invalid(gpu.write(&buffer, 16, &[0; 4])));
        assert!(invalid(gpu.write(&buffer, 2, &[0; 4])));
        assert!(invalid(gpu.write(&buffer, 0, &[0; 3])));
        // Not made to be read.
        let unreadable = gpu.buffer("unreadable", 16, BufferUsages::COPY_DST).await?;
        assert!(invalid(gpu.read(&unreadable, 0..16).await.map(drop)));
        gpu.finished().await
    }

    async fn no_adapter_is_an_error_that_says_what_there_is() {
        let none = Options { backends: wgpu::Backends::empty(), ..options() };
        assert!(matches!(Gpu::request(&none).await, Err(DeviceError::NoAdapter { .. })));
        let other = Options { name: Some("no such device".into()), ..options() };
        let Err(DeviceError::NoAdapter { tried }) = Gpu::request(&other).await else { panic!("a device without a name") };
        let there = open().await.info().candidates.clone();
        assert!(tried.contains("no such device") && there.iter().all(|name| tried.contains(name)), "{tried}");
    }

    async fn software_can_be_refused_and_demanded() {
        for (software, wanted) in [(Software::Never, false), (Software::Only, true)] {
            match Gpu::request(&Options { software, ..options() }).await {
                Ok(gpu) => assert_eq!(gpu.info().software, wanted),
                Err(error) => assert!(matches!(error, DeviceError::NoAdapter { .. }), "{error}"),
            }
        }
    }

    async fn a_lost_device_is_noticed_and_stays_lost(gpu: &Gpu) -> Result<(), DeviceError> {
        let usage = BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let buffer = gpu.buffer("bytes", 16, usage).await?;
        gpu.finished().await?;
        // Behind its owner's back, as a driver does it.
        gpu.device().destroy();
        let lost = |result: Result<(), DeviceError>| {
            assert!(matches!(result, Err(DeviceError::Lost { .. })), "{result:?}");
        };
        lost(gpu.read(&buffer, 0..16).await.map(drop));
        lost(gpu.check());
        lost(gpu.finished().await);
        lost(gpu.write(&buffer, 0, &[0; 4]));
        lost(gpu.buffer("more", 16, usage).await.map(drop));
        lost(gpu.pipeline("more", "@compute @workgroup_size(1) fn main() {}", "main", &[]).await.map(drop));
        // Another one is not affected.
        let other = open().await;
        other.buffer("more", 16, usage).await?;
        other.finished().await
    }

    async fn no_call_goes_well_for_long_after_a_loss() -> Result<(), DeviceError> {
        let usage = BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        for call in 0..4 {
            let gpu = open().await;
            gpu.device().destroy();
            let result = match call {
                0 => gpu.buffer("bytes", 16, usage).await.map(drop),
                1 => gpu.pipeline("any", "@compute @workgroup_size(1) fn main() {}", "main", &[]).await.map(drop),
                2 => gpu.allocation().done().await,
                _ => Ok(()),
            };
            // Firefox makes buffers and pipelines of a lost device without a word.
            let result = if result.is_ok() { gpu.finished().await } else { result };
            assert!(matches!(result, Err(DeviceError::Lost { .. })), "call {call}: {result:?}");
        }
        Ok(())
    }

    async fn its_owner_may_end_it(gpu: &Gpu) {
        gpu.destroy();
        let Err(DeviceError::Lost { reason }) = gpu.check() else { panic!("still there") };
        assert_eq!(reason, "its owner destroyed it");
        assert_eq!(gpu.finished().await, gpu.check());
    }

    async fn what_is_too_large_is_refused_with_both_numbers(gpu: &Gpu) -> Result<(), DeviceError> {
        let too_large = |bytes, limit, most| DeviceError::TooLarge { what: "big".into(), bytes, limit, most };
        let get = async |bytes, usage| gpu.buffer("big", bytes, usage).await.map(|buffer| buffer.destroy());
        let (buffer, storage, uniform) = (256 << 20, 128 << 20, 64 << 10);
        let copied = BufferUsages::COPY_DST;
        assert_eq!(get(buffer + 1, copied).await, Err(too_large(buffer + 1, "maxBufferSize", buffer)));
        assert_eq!(get(u64::MAX, copied).await, Err(too_large(u64::MAX, "maxBufferSize", buffer)));
        let (over, name) = (storage + 1, "maxStorageBufferBindingSize");
        assert_eq!(get(over, INPUT).await, Err(too_large(over, name, storage)));
        let (over, name) = (uniform + 1, "maxUniformBufferBindingSize");
        assert_eq!(get(over, BufferUsages::UNIFORM).await, Err(too_large(over, name, uniform)));
        for (bytes, usage) in [(buffer, copied), (storage, INPUT), (uniform, BufferUsages::UNIFORM)] {
            get(bytes, usage).await?;
        }
        gpu.finished().await
    }

    async fn all_of_a_device_can_be_asked_for() -> Result<(), DeviceError> {
        let gpu = Gpu::request(&Options { limits: Limit::Device, ..options() }).await?;
        let limits = gpu.limits();
        let (buffer, binding) = (limits.max_buffer_size, limits.max_storage_buffer_binding_size);
        let buffers = limits.max_storage_buffers_per_shader_stage;
        report(&format!("buffers of {buffer} bytes, bindings of {binding}, {buffers} in one shader"));
        assert!(buffer >= 256 << 20 && binding >= 128 << 20 && buffers >= 8);
        let bytes = binding.min(buffer).min(300 << 20);
        gpu.buffer("large", bytes, INPUT).await?;
        gpu.finished().await
    }

    async fn an_invalid_shader_is_an_error_with_the_compilers_words(gpu: &Gpu) -> Result<(), DeviceError> {
        let fault = async |wgsl: &str, entry: &str| match gpu.pipeline("faulty", wgsl, entry, &[]).await {
            Err(DeviceError::Validation { what, message }) if what == "faulty" => message,
            other => panic!("{other:?}"),
        };
        let unknown = fault("@compute @workgroup_size(1) fn main() {\n  let x = nowhere;\n}", "main").await;
        report(&format!("unknown name: {unknown}"));
        assert!(unknown.contains("nowhere"), "{unknown}");
        let fine = "@compute @workgroup_size(1) fn main() {}";
        assert!(!fault(fine, "other").await.is_empty());
        assert!(!fault("@compute @workgroup_size(512) fn main() {}", "main").await.is_empty());
        assert!(!fault("", "main").await.is_empty());
        // None of this is the device's fault.
        gpu.pipeline("fine", fine, "main", &[]).await?;
        gpu.finished().await
    }

    async fn a_layout_that_does_not_match_is_an_error(gpu: &Gpu) -> Result<(), DeviceError> {
        let entry = wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only: true },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let layout = wgpu::BindGroupLayoutDescriptor { label: None, entries: &[entry] };
        let layout = gpu.device().create_bind_group_layout(&layout);
        let wgsl = |access: &str| {
            format!(
                "@group(0) @binding(0) var<storage, {access}> a: array<u32>;
                @compute @workgroup_size(1) fn main() {{ var x = a[0]; x += 1u; }}"
            )
        };
        gpu.pipeline("fine", &wgsl("read"), "main", &[&layout]).await?;
        let other = gpu.pipeline("other", &wgsl("read_write"), "main", &[&layout]).await;
        assert!(matches!(other, Err(DeviceError::Validation { .. })), "{other:?}");
        gpu.finished().await
    }

    async fn an_error_that_nobody_waited_for_is_kept(gpu: &Gpu) -> Result<(), DeviceError> {
        let usage = BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let buffer = gpu.buffer("bytes", 16, usage).await?;
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let other = gpu.buffer("others", 16, usage).await?;
        encoder.copy_buffer_to_buffer(&buffer, 0, &other, 12, 8);
        gpu.queue().submit([encoder.finish()]);
        let Err(DeviceError::Validation { message, .. }) = gpu.finished().await else { panic!("no error") };
        report(&format!("a copy beyond a buffer: {message}"));
        // It stays, and nothing is read after it.
        assert!(matches!(gpu.check(), Err(DeviceError::Validation { .. })));
        assert_eq!(gpu.read(&buffer, 0..16).await.map(drop), gpu.check());
        Ok(())
    }
}

/// A driver that really has no memory left: the test runs itself again in a process of few gigabytes of addresses.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_runs_out_is_an_error_and_not_the_end() {
    const INSIDE: &str = "MRAIL_TEST_INSIDE_LITTLE_MEMORY";
    if std::env::var_os(INSIDE).is_none() {
        let itself = std::env::current_exe().unwrap();
        let name = "memory_that_runs_out_is_an_error_and_not_the_end";
        let limited = "ulimit -v 6000000 && exec \"$0\" --exact --nocapture \"$1\"";
        let status =
            std::process::Command::new("sh").args(["-c", limited]).arg(itself).arg(name).env(INSIDE, "1").status();
        assert!(status.unwrap().success());
        return;
    }
    pollster::block_on(async {
        let gpu = open().await;
        let mut buffers = Vec::new();
        let error = loop {
            assert!(buffers.len() < 1000, "250 GiB in 6");
            match gpu.buffer("a quarter", 256 << 20, BufferUsages::COPY_DST | BufferUsages::COPY_SRC).await {
                Ok(buffer) => buffers.push(buffer),
                Err(error) => break error,
            }
        };
        report(&format!("after {} quarters of a gigabyte: {error}", buffers.len()));
        assert_eq!(error, DeviceError::OutOfMemory { what: "a quarter".into(), bytes: Some(256 << 20) });
        assert!(buffers.len() > 2);
        // What is there still works.
        gpu.write(&buffers[0], 0, &[7; 4]).unwrap();
        assert_eq!(gpu.read(&buffers[0], 0..4).await, Ok(vec![7; 4]));
        // And there is room again.
        buffers.pop();
        gpu.finished().await.unwrap();
        gpu.buffer("a quarter", 256 << 20, BufferUsages::COPY_DST).await.unwrap();
    });
}
