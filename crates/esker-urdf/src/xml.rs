//! Elements and their attributes, with the place of everything that is wrong.

use esker_geometry::Pose;
use glam::{DQuat, DVec3, EulerRot};
use roxmltree::{Node, TextPos};

use crate::error::UrdfError;

/// An element of the document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'a, 'd>(pub(crate) Node<'a, 'd>);

impl<'a, 'd> Element<'a, 'd> {
    /// Its children of this name.
    pub(crate) fn all(self, name: &'static str) -> impl Iterator<Item = Element<'a, 'd>> {
        let children = self.0.children();
        children
            .filter(move |node| node.has_tag_name(name))
            .map(Element)
    }

    /// Its first child of this name.
    pub(crate) fn first(self, name: &'static str) -> Option<Element<'a, 'd>> {
        self.all(name).next()
    }

    /// Its first child of this name, which must be there.
    pub(crate) fn child(self, name: &'static str) -> Result<Element<'a, 'd>, UrdfError> {
        let missing = || self.error(format!("<{}> has no <{name}>", self.0.tag_name().name()));
        self.first(name).ok_or_else(missing)
    }

    /// An attribute that must be there.
    pub(crate) fn text(self, name: &str) -> Result<&'a str, UrdfError> {
        self.0.attribute(name).ok_or_else(|| {
            let element = self.0.tag_name().name();
            self.error(format!("<{element}> has no `{name}`"))
        })
    }

    /// A finite number that must be there.
    pub(crate) fn number(self, name: &str) -> Result<f64, UrdfError> {
        let [value] = self.parsed(name, self.text(name)?)?;
        Ok(value)
    }

    /// A finite number, or what stands for it.
    pub(crate) fn number_or(self, name: &str, default: f64) -> Result<f64, UrdfError> {
        match self.0.attribute(name) {
            Some(_) => self.number(name),
            None => Ok(default),
        }
    }

    /// A number greater than zero.
    pub(crate) fn positive(self, name: &str) -> Result<f64, UrdfError> {
        let value = self.number(name)?;
        if value > 0.0 {
            Ok(value)
        } else {
            Err(self.bad(name, "a number greater than 0"))
        }
    }

    /// Three numbers, or what stands for them.
    pub(crate) fn vector_or(self, name: &str, default: DVec3) -> Result<DVec3, UrdfError> {
        match self.0.attribute(name) {
            Some(text) => self.parsed(name, text).map(DVec3::from_array),
            None => Ok(default),
        }
    }

    /// The pose of its <origin>; none: no displacement.
    pub(crate) fn origin(self) -> Result<Pose, UrdfError> {
        let Some(origin) = self.first("origin") else {
            return Ok(Pose::IDENTITY);
        };
        let position = origin.vector_or("xyz", DVec3::ZERO)?;
        let [roll, pitch, yaw] = origin.vector_or("rpy", DVec3::ZERO)?.to_array();
        Ok(Pose::new(
            position,
            DQuat::from_euler(EulerRot::ZYX, yaw, pitch, roll),
        ))
    }

    fn parsed<const N: usize>(self, name: &str, text: &str) -> Result<[f64; N], UrdfError> {
        let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
        let finite = numbers
            .ok()
            .filter(|list| list.iter().all(|x| x.is_finite()));
        let array = finite.and_then(|list| <[f64; N]>::try_from(list).ok());
        array.ok_or_else(|| {
            let wanted = if N == 1 { "a number" } else { "three numbers" };
            self.bad(name, wanted)
        })
    }

    fn bad(self, name: &str, wanted: &str) -> UrdfError {
        let value = self.0.attribute(name).unwrap_or_default();
        self.error(format!("`{name}` is \"{value}\""))
            .advice(format!("it must be {wanted}"))
    }

    /// An error at this element.
    pub(crate) fn error(self, message: impl Into<String>) -> UrdfError {
        let document = self.0.document();
        at(document.text_pos_at(self.0.range().start), message)
    }
}

/// An error at a place.
pub(crate) fn at(place: TextPos, message: impl Into<String>) -> UrdfError {
    UrdfError {
        line: place.row,
        column: place.col,
        message: message.into(),
        advice: None,
    }
}
