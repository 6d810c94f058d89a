//! Finished pictures and their file formats.

use std::time::Duration;

/// A picture of 8-bit sRGB pixels, row by row from the top left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: u32,
    height: u32,
    pixels: Vec<[u8; 3]>,
}

/// Why a picture or an animation could not be encoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// An animation needs at least one frame.
    #[error("an animation needs at least one frame")]
    NoFrames,
    /// A picture without pixels has no encoding.
    #[error("a picture of {0} x {1} pixels has nothing to encode")]
    Empty(u32, u32),
    /// Frames of one animation have one size.
    #[error("frame {frame} has {found:?} pixels, but the first frame has {expected:?}")]
    SizeMismatch {
        /// Index of the offending frame.
        frame: usize,
        /// Its width and height.
        found: (u32, u32),
        /// Width and height of the first frame.
        expected: (u32, u32),
    },
    /// GIF stores sizes in 16 bits.
    #[error("GIF cannot hold {0} x {1} pixels (65535 at most): choose APNG or a smaller picture")]
    TooLargeForGif(u32, u32),
    /// The PNG library refused.
    #[error("PNG: {0}")]
    Png(#[from] png::EncodingError),
    /// The GIF library refused.
    #[error("GIF: {0}")]
    Gif(#[from] gif::EncodingError),
}

impl Image {
    /// A picture in one colour.
    pub fn new((width, height): (u32, u32), color: [u8; 3]) -> Self {
        Self {
            width,
            height,
            pixels: vec![color; width as usize * height as usize],
        }
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The sRGB pixels, row by row from the top left.
    pub fn pixels(&self) -> &[[u8; 3]] {
        &self.pixels
    }

    /// The pixel at column `x` and row `y`; `None` outside.
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 3]> {
        let inside = x < self.width && y < self.height;
        inside.then(|| self.pixels[y as usize * self.width as usize + x as usize])
    }

    pub(crate) fn row_mut(&mut self, y: u32) -> &mut [[u8; 3]] {
        let width = self.width as usize;
        &mut self.pixels[y as usize * width..][..width]
    }

    /// The picture as the bytes of a PNG file.
    pub fn encode_png(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = Vec::new();
        let mut writer = self.png_encoder(&mut bytes)?.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()?;
        Ok(bytes)
    }

    fn png_encoder<'a>(
        &self,
        bytes: &'a mut Vec<u8>,
    ) -> Result<png::Encoder<'a, &'a mut Vec<u8>>, EncodeError> {
        if self.pixels.is_empty() {
            return Err(EncodeError::Empty(self.width, self.height));
        }
        let mut encoder = png::Encoder::new(bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        Ok(encoder)
    }
}

/// The first of some frames of equal size.
fn first_of(frames: &[Image]) -> Result<&Image, EncodeError> {
    let first = frames.first().ok_or(EncodeError::NoFrames)?;
    let expected = (first.width, first.height);
    for (frame, image) in frames.iter().enumerate() {
        let found = (image.width, image.height);
        if found != expected {
            return Err(EncodeError::SizeMismatch {
                frame,
                found,
                expected,
            });
        }
    }
    Ok(first)
}

/// An endless animation as the bytes of an animated PNG: exact colours, larger files. `delay` is
/// the time each frame is shown, rounded to milliseconds.
pub fn encode_apng(frames: &[Image], delay: Duration) -> Result<Vec<u8>, EncodeError> {
    let first = first_of(frames)?;
    let mut bytes = Vec::new();
    let mut encoder = first.png_encoder(&mut bytes)?;
    let count = u32::try_from(frames.len()).unwrap_or(u32::MAX);
    encoder.set_animated(count, 0)?;
    let milliseconds = u16::try_from(delay.as_millis()).unwrap_or(u16::MAX);
    encoder.set_frame_delay(milliseconds, 1000)?;
    let mut writer = encoder.write_header()?;
    for frame in frames {
        writer.write_image_data(frame.pixels.as_flattened())?;
    }
    writer.finish()?;
    Ok(bytes)
}

/// An endless animation as the bytes of a GIF: 256 colours per frame, shown everywhere. `delay`
/// is the time each frame is shown, rounded to hundredths of a second.
pub fn encode_gif(frames: &[Image], delay: Duration) -> Result<Vec<u8>, EncodeError> {
    /// NeuQuant samples every tenth pixel: its own advice between speed and quality.
    const QUANTISER_SPEED: i32 = 10;
    let first = first_of(frames)?;
    if first.pixels.is_empty() {
        return Err(EncodeError::Empty(first.width, first.height));
    }
    let (Ok(width), Ok(height)) = (u16::try_from(first.width), u16::try_from(first.height)) else {
        return Err(EncodeError::TooLargeForGif(first.width, first.height));
    };
    let mut bytes = Vec::new();
    let mut encoder = gif::Encoder::new(&mut bytes, width, height, &[])?;
    encoder.set_repeat(gif::Repeat::Infinite)?;
    let hundredths = u16::try_from((delay.as_millis() + 5) / 10).unwrap_or(u16::MAX);
    for image in frames {
        let mut frame =
            gif::Frame::from_rgb_speed(width, height, image.pixels.as_flattened(), QUANTISER_SPEED);
        frame.delay = hundredths;
        encoder.write_frame(&frame)?;
    }
    drop(encoder);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gradient(size: (u32, u32), blue: u8) -> Image {
        let mut image = Image::new(size, [0, 0, blue]);
        for y in 0..size.1 {
            for (x, pixel) in image.row_mut(y).iter_mut().enumerate() {
                pixel[0] = (x * 7 % 256) as u8;
                pixel[1] = (y * 5 % 256) as u8;
            }
        }
        image
    }

    #[test]
    fn png_decodes_back_to_the_same_pixels() {
        let image = gradient((37, 21), 90);
        let bytes = image.encode_png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes))
            .read_info()
            .unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (37, 21));
        assert_eq!(pixels, image.pixels().as_flattened());
    }

    #[test]
    fn apng_holds_every_frame_exactly() {
        let frames = [
            gradient((9, 8), 0),
            gradient((9, 8), 120),
            gradient((9, 8), 240),
        ];
        let bytes = encode_apng(&frames, Duration::from_millis(40)).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes))
            .read_info()
            .unwrap();
        assert_eq!(reader.info().animation_control().unwrap().num_frames, 3);
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        for frame in &frames {
            reader.next_frame(&mut pixels).unwrap();
            assert_eq!(pixels, frame.pixels().as_flattened());
        }
    }

    #[test]
    fn gif_holds_every_frame_with_its_delay_and_nearly_its_colours() {
        let frames = [gradient((16, 12), 0), gradient((16, 12), 200)];
        let bytes = encode_gif(&frames, Duration::from_millis(50)).unwrap();
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&bytes[..]).unwrap();
        for image in &frames {
            let frame = decoder.read_next_frame().unwrap().unwrap();
            assert_eq!(frame.delay, 5);
            for (rgba, rgb) in frame.buffer.chunks_exact(4).zip(image.pixels()) {
                assert!((0..3).all(|i| rgba[i].abs_diff(rgb[i]) < 24));
            }
        }
        assert!(decoder.read_next_frame().unwrap().is_none());
    }

    #[test]
    fn animations_that_cannot_be_encoded_are_refused_with_the_reason() {
        let delay = Duration::from_millis(40);
        assert!(matches!(
            encode_apng(&[], delay),
            Err(EncodeError::NoFrames)
        ));
        let uneven = [gradient((4, 4), 0), gradient((4, 5), 0)];
        let error = encode_gif(&uneven, delay).unwrap_err();
        assert!(matches!(error, EncodeError::SizeMismatch { frame: 1, .. }));
        let empty = Image::new((0, 3), [0; 3]);
        assert!(matches!(empty.encode_png(), Err(EncodeError::Empty(0, 3))));
        let wide = Image::new((70_000, 1), [0; 3]);
        assert!(matches!(
            encode_gif(&[wide], delay),
            Err(EncodeError::TooLargeForGif(..))
        ));
    }
}
