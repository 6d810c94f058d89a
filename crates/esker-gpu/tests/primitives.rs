//! Sums and sorting of what lies on a device, by the host and by a GPU where there is one.

use esker_gpu::memory::{Array, DeviceMemory, Layout, staged, staged_mut};
use esker_gpu::resident::primitives::{
    ScanRecord, SortPlace, SortRecord, scan, scan_scratch, sort_scratch,
};
use esker_gpu::{Executor, Host};

/// Numbers without a pattern.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.0 ^ self.0 >> 29
    }
}

fn scanned<E: Executor>(executor: &mut E, numbers: &[u32]) -> (Vec<u32>, u32) {
    let mut layout = Layout::default();
    let input: Array<u32> = layout.array(numbers.len());
    let output: Array<u32> = layout.array(numbers.len());
    let tiles: Array<u32> = layout.array(scan_scratch(numbers.len()));
    let ends: Array<u32> = layout.array(2);
    let record: Array<ScanRecord> = layout.array(1);
    let mut memory = executor.allocate(layout.end()).unwrap().expect("memory");
    staged_mut(&mut memory, input).copy_from_slice(numbers);
    staged_mut(&mut memory, ends)[0] = numbers.len() as u32;
    staged_mut(&mut memory, record)[0] = ScanRecord {
        input: input.address(&memory),
        output: output.address(&memory),
        length: ends.address(&memory),
        total: ends.address(&memory) + 4,
        tiles: tiles.address(&memory),
    };
    memory.upload(0..layout.end()).unwrap();
    scan(executor, record.address(&memory), numbers.len()).unwrap();
    memory.download(0..layout.end()).unwrap();
    executor.wait().unwrap();
    (staged(&memory, output).to_vec(), staged(&memory, ends)[1])
}

fn sorted<E: Executor>(executor: &mut E, keys: &[u64], bits: u32) -> (Vec<u64>, Vec<u32>) {
    let mut layout = Layout::default();
    let both_keys: [Array<u64>; 2] = layout.arrays(keys.len());
    let values: [Array<u32>; 2] = layout.arrays(keys.len());
    let counts: Array<u32> = layout.array(sort_scratch(keys.len()));
    let tiles: Array<u32> = layout.array(scan_scratch(sort_scratch(keys.len())));
    let ends: Array<u32> = layout.array(3);
    let place = SortPlace::new(&mut layout, keys.len());
    let mut memory = executor.allocate(layout.end()).unwrap().expect("memory");
    staged_mut(&mut memory, both_keys[0]).copy_from_slice(keys);
    for (k, value) in (0..).zip(staged_mut(&mut memory, values[0])) {
        *value = k;
    }
    staged_mut(&mut memory, ends)[0] = keys.len() as u32;
    let at = ends.address(&memory);
    let record = SortRecord {
        keys: both_keys.map(|array| array.address(&memory)),
        values: values.map(|array| array.address(&memory)),
        length: at,
        counts: counts.address(&memory),
        count_length: at + 4,
    };
    let tiles = tiles.address(&memory);
    place.write(&mut memory, record, tiles, at + 8);
    memory.upload(0..layout.end()).unwrap();
    let result = place.sort(executor, &memory, bits).unwrap();
    memory.download(0..layout.end()).unwrap();
    executor.wait().unwrap();
    (
        staged(&memory, both_keys[result]).to_vec(),
        staged(&memory, values[result]).to_vec(),
    )
}

/// Lengths about those of runs, tiles and many tiles.
const LENGTHS: [usize; 9] = [0, 1, 255, 256, 2047, 2048, 2049, 70_000, 1_100_000];

fn sums_are_right(executor: &mut impl Executor) {
    let mut random = Numbers(1);
    for length in LENGTHS {
        let numbers: Vec<u32> = (0..length).map(|_| random.next() as u32 % 1000).collect();
        let mut sum = 0;
        let expected: Vec<u32> = numbers
            .iter()
            .map(|n| {
                sum += n;
                sum - n
            })
            .collect();
        let (found, total) = scanned(executor, &numbers);
        assert!(found == expected && total == sum, "{length} numbers");
    }
}

fn sorting_is_stable(executor: &mut impl Executor) {
    let mut random = Numbers(2);
    for length in LENGTHS {
        for (bits, mask) in [(8, 255), (37, (1 << 37) - 1), (64, u64::MAX)] {
            if length > 100_000 && bits > 8 {
                continue;
            }
            // Many keys come twice.
            let keys: Vec<u64> = (0..length)
                .map(|_| {
                    let key = random.next() & mask;
                    if key & 1 == 0 { key } else { key % 97 }
                })
                .collect();
            let mut expected: Vec<u32> = (0..length as u32).collect();
            expected.sort_by_key(|&i| keys[i as usize]);
            let (found, values) = sorted(executor, &keys, bits);
            assert!(values == expected, "{length} keys of {bits} bits");
            assert!(found.is_sorted());
        }
    }
}

#[test]
fn sums_before_entries_are_right() {
    sums_are_right(&mut Host::default());
    #[cfg(feature = "cuda")]
    if let Ok(mut cuda) = esker_gpu::Cuda::new(0) {
        sums_are_right(&mut cuda);
    }
}

#[test]
fn sorting_keeps_the_order_of_equal_keys() {
    sorting_is_stable(&mut Host::default());
    #[cfg(feature = "cuda")]
    if let Ok(mut cuda) = esker_gpu::Cuda::new(0) {
        sorting_is_stable(&mut cuda);
    }
}
