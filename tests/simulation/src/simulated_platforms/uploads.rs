//! Prepared files on the platforms, which keep them until the publish call, or forget them.

use std::fmt;

use super::reference::Reference;

/// The progress of a preparation: the upload, and the number of completed steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    upload: usize,
    pub(crate) steps: usize,
}

impl Progress {
    /// Parses `upload-steps`; the text after a space belongs to other code.
    pub(crate) fn read(text: &str) -> Self {
        let mut parts = text.split(' ').next().unwrap_or_default().split('-').map(|it| it.parse().expect("a number"));
        let mut next = || parts.next().unwrap_or_else(|| panic!("a progress {text}"));
        Self { upload: next(), steps: next() }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}-{}", self.upload, self.steps)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Uploads(Vec<Upload>);

#[derive(Debug)]
struct Upload {
    reference: Reference,
    steps: usize,
    is_kept: bool,
}

impl Uploads {
    /// Completes one more step. The first step begins a new upload. A step may be repeated, because
    /// its first response may have been lost.
    pub(crate) fn step(&mut self, reference: Reference, reached: Option<Progress>) -> Progress {
        let Progress { upload, steps } = reached.unwrap_or_else(|| {
            self.0.push(Upload { reference, steps: 0, is_kept: true });
            Progress { upload: self.0.len() - 1, steps: 0 }
        });
        let done = Progress { upload, steps: steps + 1 };
        self.0[upload].steps = done.steps.max(self.0[upload].steps);
        done
    }

    /// `progress` is what a call for this target names.
    pub(crate) fn steps(&self, reference: Reference, progress: Option<Progress>) -> usize {
        let upload = progress.and_then(|it| self.0.get(it.upload)).filter(|it| it.reference == reference);
        upload.map_or(0, |it| it.steps)
    }

    pub(crate) fn keeps(&self, progress: Progress) -> bool {
        self.0.get(progress.upload).is_some_and(|it| it.is_kept)
    }

    pub(crate) fn forget(&mut self, progress: Progress) {
        if let Some(upload) = self.0.get_mut(progress.upload) {
            upload.is_kept = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::id::{PostId, TargetId};

    use super::*;

    #[test]
    fn upload_ids_are_new_after_preparing_again() {
        let reference =
            Reference { post: PostId::new(1).unwrap(), target: TargetId::new(2).unwrap(), revision: 1, segment: 0 };
        let mut uploads = Uploads::default();
        let first = uploads.step(reference, None);
        let ready = Progress::read(&uploads.step(reference, Some(first)).to_string());
        assert_eq!(uploads.steps(reference, Some(ready)), 2);
        assert!(uploads.keeps(ready));

        uploads.forget(ready);
        uploads.step(reference, Some(first));
        assert!(!uploads.keeps(ready), "whatever is added to it");
        let anew = uploads.step(reference, None);
        assert!(uploads.keeps(anew) && !uploads.keeps(ready));
        assert_eq!(uploads.steps(reference, Some(anew)), 1);
    }
}
