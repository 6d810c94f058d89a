//! The kernels of `kernels/resident.cu` by name.

use crate::launch::ResidentKernel;

macro_rules! kernels {
    ($($name:ident),* $(,)?) => {
        #[cfg(feature = "host")]
        mod on_host {
            use crate::host::Launch;

            unsafe extern "C" {
                $(pub(super) fn $name(launch: Launch, record: *mut u8, number: u32);)*
            }

            pub(super) mod mixed {
                use crate::host::Launch;

                unsafe extern "C" {
                    $(
                        #[link_name = concat!(stringify!($name), "_mixed")]
                        pub(in super::super) fn $name(launch: Launch, record: *mut u8, number: u32);
                    )*
                }
            }
        }

        $(
            #[allow(missing_docs, non_upper_case_globals, reason = "named as in their text")]
            pub static $name: ResidentKernel = ResidentKernel {
                name: stringify!($name),
                #[cfg(feature = "host")]
                on_host: [on_host::$name, on_host::mixed::$name],
            };
        )*

        /// All of them.
        pub static ALL: &[&ResidentKernel] = &[$(&$name),*];
    };
}

kernels! {
    scan_tiles,
    scan_sums,
    scan_entries,
    sort_count,
    sort_place,
    field_begin,
    field_claim,
    field_sum,
    field_means,
    field_spread_of_cells,
    field_deviations,
    field_hit,
    field_compare,
    field_spread,
    field_reaches,
    grid_choose,
    grid_claim,
    grid_divide,
    grid_place,
    pairs_of_level,
    pairs_of_wide,
    pairs_near,
    walls_sides,
    walls_near,
    meshes_near,
    impacts_find,
    impacts_keep,
    impacts_propagate,
    pushes_sum,
    pushes_bound,
    choose,
    measures_begin,
    measure_grains,
    plan_begin,
    plan_claim,
    plan_rank,
    plan_place,
    plan_sort,
    plan_pack,
    plan_finish,
    flat_colour,
    flat_keys,
    flat_bounds,
    flat_groups,
    flat_order,
    flat_finish,
    rows_recall,
    rows_claim,
    rows_set,
    rows_groups,
    finish_grains,
    finish_contacts,
    history_begin,
    history_link,
    history_scale,
    turnover_take,
    turnover_put,
    reorder_take,
    reorder_put,
    look_begin,
    look_residual,
    look_errors,
    look_worst,
    look_travel,
    look_sum,
    select_count,
    select_digit,
}
