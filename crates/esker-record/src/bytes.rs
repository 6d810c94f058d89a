//! Little-endian bytes: writing plain values, and reading them back from
//! bytes that cannot be trusted.

use glam::{DQuat, DVec3};

/// The bytes end too early, or say something impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// A value with a fixed little-endian layout.
pub(crate) trait Plain: Sized {
    /// Bytes of one value.
    const SIZE: usize;
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads the value; `bytes` has [`Plain::SIZE`] bytes.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! plain_number {
    ($($number:ty),*) => {$(
        impl Plain for $number {
            const SIZE: usize = size_of::<$number>();

            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$number>()];
                array.copy_from_slice(bytes);
                <$number>::from_le_bytes(array)
            }
        }
    )*};
}

plain_number!(u8, u16, u32, u64, i64, u128, f32, f64);

impl<T: Plain + Default> Plain for Option<T> {
    const SIZE: usize = 1 + T::SIZE;

    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        match self {
            Some(value) => value.put(out),
            None => T::default().put(out),
        }
    }

    fn get(bytes: &[u8]) -> Self {
        let (is_some, value) = bytes.split_at(1);
        (is_some != [0]).then(|| T::get(value))
    }
}

impl Plain for DVec3 {
    const SIZE: usize = 24;

    fn put(&self, out: &mut Vec<u8>) {
        self.to_array().iter().for_each(|x| x.put(out));
    }

    fn get(bytes: &[u8]) -> Self {
        DVec3::from_array(std::array::from_fn(|i| f64::get(&bytes[8 * i..8 * i + 8])))
    }
}

impl Plain for DQuat {
    const SIZE: usize = 32;

    fn put(&self, out: &mut Vec<u8>) {
        self.to_array().iter().for_each(|x| x.put(out));
    }

    fn get(bytes: &[u8]) -> Self {
        DQuat::from_array(std::array::from_fn(|i| f64::get(&bytes[8 * i..8 * i + 8])))
    }
}

/// The values one after another.
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| value.put(&mut bytes));
    bytes
}

/// Appends a length and the values one after another.
pub(crate) fn put_list<T: Plain>(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = T>) {
    (values.len() as u64).put(out);
    for value in values {
        value.put(out);
    }
}

/// Appends a length and the text.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_list(out, text.bytes());
}

/// Reads values one after another. Allocates no more than the bytes that are
/// there can fill, whatever lengths they claim.
pub(crate) struct Source<'a> {
    rest: &'a [u8],
}

impl<'a> Source<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Source { rest: bytes }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn get<T: Plain>(&mut self) -> Result<T, Malformed> {
        self.take(T::SIZE).map(T::get)
    }

    pub(crate) fn list<T: Plain>(&mut self) -> Result<Vec<T>, Malformed> {
        let count = usize::try_from(self.get::<u64>()?).map_err(|_| Malformed)?;
        let bytes = self.take(count.checked_mul(T::SIZE).ok_or(Malformed)?)?;
        Ok(bytes.chunks_exact(T::SIZE).map(T::get).collect())
    }

    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        String::from_utf8(self.list()?).map_err(|_| Malformed)
    }

    /// Nothing may be left.
    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed)
        }
    }
}
