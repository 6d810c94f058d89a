//! Compiles the kernels for the host, where that is asked for.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    #[cfg(feature = "host")]
    cc::Build::new()
        .file("kernels/host.c")
        .file("kernels/resident_host.c")
        .file("kernels/mixed_host.c")
        .file("kernels/mixed_resident_host.c")
        .std("c11")
        .opt_level(2)
        // The bits of the CPU's sweep: no product and sum become one operation.
        .flag_if_supported("-ffp-contract=off")
        .flag_if_supported("-fno-math-errno")
        // Phases are loops over threads, the first of which sets what others read.
        .flag_if_supported("-Wno-maybe-uninitialized")
        .warnings(true)
        .compile("esker_kernels");
}
