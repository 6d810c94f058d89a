//! The publications that experiments and measures follow.

use std::fmt;

/// A publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// How the program and its sources call it.
    pub key: &'static str,
    /// Who wrote it.
    pub authors: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Where it was published.
    pub place: &'static str,
    /// Its digital object identifier, where one is known.
    pub doi: Option<&'static str>,
}

/// All of them, in the order of their keys.
pub const ALL: &[Reference] = &[
    Reference {
        key: "Beverloo et al. 1961",
        authors: "W. A. Beverloo, H. A. Leniger, J. van de Velde",
        title: "The flow of granular solids through orifices",
        place: "Chemical Engineering Science 15, 260–269 (1961)",
        doi: Some("10.1016/0009-2509(61)85030-6"),
    },
    Reference {
        key: "Donev et al. 2004",
        authors: "A. Donev, I. Cisse, D. Sachs, E. A. Variano, F. H. Stillinger, R. Connelly, \
                  S. Torquato, P. M. Chaikin",
        title: "Improving the density of jammed disordered packings using ellipsoids",
        place: "Science 303, 990–993 (2004)",
        doi: Some("10.1126/science.1093010"),
    },
    Reference {
        key: "Dosta et al. 2024",
        authors: "M. Dosta and fourteen others",
        title: "Comparing open-source DEM frameworks for simulations of common bulk processes",
        place: "Computer Physics Communications 296, 109066 (2024)",
        doi: None,
    },
    Reference {
        key: "Kleinert 2020",
        authors: "J. Kleinert",
        title: "Simulating granular material using nonsmooth time stepping and a matrixfree interior \
                point method",
        place: "Slides, Workshop on the Intersection of Set-Valued Analysis, Plasticity and Friction \
                (December 2020)",
        doi: None,
    },
    Reference {
        key: "Koziara 2019",
        authors: "T. Koziara",
        title: "A projected quasi-Newton method for dynamic multibody frictional contact problems",
        place: "PARMES technical report 2, revision 1 (March 2019)",
        doi: None,
    },
    Reference {
        key: "McKyes and Ali 1977",
        authors: "E. McKyes, O. S. Ali",
        title: "The cutting of soil by narrow blades",
        place: "Journal of Terramechanics 14, 43–58 (1977)",
        doi: None,
    },
    Reference {
        key: "Servin and Wang 2015",
        authors: "M. Servin, D. Wang",
        title: "Adaptive model reduction for nonsmooth discrete element simulation",
        place: "Paper V of D. Wang's thesis (Wang 2015)",
        doi: None,
    },
    Reference {
        key: "Servin et al. 2014",
        authors: "M. Servin, D. Wang, C. Lacoursière, K. Bodin",
        title: "Examining the smooth and nonsmooth discrete element approaches to granular matter",
        place: "International Journal for Numerical Methods in Engineering 97, 878–902 (2014)",
        doi: None,
    },
    Reference {
        key: "Sundberg 2014",
        authors: "J. Sundberg",
        title: "Parallel projected Gauss-Seidel solver for large-scale granular matter",
        place: "Master's thesis, Umeå University (2014)",
        doi: None,
    },
    Reference {
        key: "Wang 2015",
        authors: "D. Wang",
        title: "Accelerated granular matter simulation",
        place: "PhD thesis, Umeå University (2015), ISBN 978-91-7601-366-3",
        doi: None,
    },
    Reference {
        key: "Wang et al. 2014",
        authors: "D. Wang, M. Servin, K.-O. Mickelsson",
        title: "Outlet design optimization based on large-scale nonsmooth DEM simulation",
        place: "Powder Technology 253, 438–443 (2014)",
        doi: Some("10.1016/j.powtec.2013.11.046"),
    },
    Reference {
        key: "Wang et al. 2015",
        authors: "D. Wang, M. Servin, T. Berglund, K.-O. Mickelsson, S. Rönnbäck",
        title: "Parametrization and validation of a nonsmooth discrete element method for simulating \
                flows of iron ore green pellets",
        place: "Powder Technology 283, 475–487 (2015)",
        doi: None,
    },
    Reference {
        key: "Wang et al. 2016",
        authors: "D. Wang, M. Servin, T. Berglund",
        title: "Warm starting the projected Gauss-Seidel algorithm for granular matter simulation",
        place: "Computational Particle Mechanics 3 (2016), arXiv:1509.04042",
        doi: Some("10.1007/s40571-015-0088-x"),
    },
];

/// The publication that a text begins with, if it is one of ours.
pub fn of(text: &str) -> Option<&'static Reference> {
    ALL.iter().find(|reference| text.starts_with(reference.key))
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}. {}", self.authors, self.title, self.place)?;
        match self.doi {
            Some(doi) => write!(f, ". https://doi.org/{doi}"),
            None => Ok(()),
        }
    }
}

/// The page `docs/src/bibliography.md`.
pub fn page() -> String {
    let mut page = String::from(
        "# Bibliography\n\n\
         What the experiments, measures and formulas of Esker follow, by the names that the program and its\n\
         sources use. Made from `crates/esker-study/src/bibliography.rs`.\n\n",
    );
    for reference in ALL {
        page.push_str(&format!("- **{}** {reference}\n", reference.key));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    /// Those that follow no publication say so in their own words.
    #[test]
    fn every_experiment_names_a_publication_that_is_listed() {
        let listed = |name: &str| of(registry::find(name).expect("known").about().paper);
        for experiment in registry::ALL {
            let name = experiment.about().name;
            let follows_none = ["limits", "accuracy", "machines"].contains(&name);
            assert_eq!(listed(name).is_none(), follows_none, "{name}");
        }
    }

    #[test]
    fn the_page_is_what_the_list_says() {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/bibliography.md");
        if std::env::var_os("ESKER_WRITE").is_some() {
            std::fs::write(&path, page()).expect("the page is written");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == page(),
            "docs/src/bibliography.md is out of date: run with ESKER_WRITE=1"
        );
    }

    #[test]
    fn keys_are_sorted_and_none_is_taken_for_another() {
        assert!(ALL.is_sorted_by_key(|reference| reference.key));
        for reference in ALL {
            assert_eq!(of(reference.key), Some(reference));
        }
    }
}
