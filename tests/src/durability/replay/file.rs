//! The data of one file: as the process sees them, and as they are on the disk.

use std::io;

use super::{Rng, Variant};

const SECTOR_BYTES: usize = 512;

#[derive(Clone, Debug)]
enum Pending {
    Resize(usize),
    Write { offset: usize, data: Vec<u8> },
}

#[derive(Default)]
pub(super) struct File {
    /// As the process sees the file.
    content: Vec<u8>,
    /// As of the last sync.
    synced: Vec<u8>,
    /// Since the last sync, with the index of their record.
    pending: Vec<(usize, Pending)>,
}

impl File {
    pub(super) fn resize(&mut self, index: usize, size_bytes: u64) -> io::Result<()> {
        let size = usize::try_from(size_bytes).map_err(io::Error::other)?;
        self.change(index, Pending::Resize(size));
        Ok(())
    }

    pub(super) fn write(&mut self, index: usize, offset: u64, data: &[u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        self.change(index, Pending::Write { offset, data: data.to_owned() });
        Ok(())
    }

    fn change(&mut self, index: usize, change: Pending) {
        apply(&mut self.content, &change);
        self.pending.push((index, change));
    }

    /// Only the changes of earlier records than `before`.
    pub(super) fn sync(&mut self, before: usize) {
        let synced = &mut self.synced;
        self.pending.retain(|(index, change)| {
            let stays = before <= *index;
            if !stays {
                apply(synced, change);
            }
            stays
        });
    }

    /// Only the changes of earlier records than `before`: no later sync writes them.
    pub(super) fn drop_pending(&mut self, before: usize) {
        self.pending.retain(|(index, _)| before <= *index);
    }

    pub(super) fn after_power_cut(&self, variant: Variant, rng: &mut Rng) -> Vec<u8> {
        match variant {
            Variant::Kept => self.content.clone(),
            Variant::Lost => self.synced.clone(),
            Variant::Torn => self.torn(rng),
        }
    }

    fn torn(&self, rng: &mut Rng) -> Vec<u8> {
        let mut data_on_disk = self.synced.clone();
        for (_, change) in &self.pending {
            for part in sectors(change) {
                if rng.flip() {
                    apply(&mut data_on_disk, &part);
                }
            }
        }
        data_on_disk
    }
}

/// One write for each sector that the write touches.
fn sectors(change: &Pending) -> Vec<Pending> {
    let Pending::Write { offset, data } = change else { return vec![change.clone()] };
    let mut parts = Vec::new();
    let mut start = 0;
    while start < data.len() {
        let at = offset + start;
        let end = data.len().min(start + SECTOR_BYTES - at % SECTOR_BYTES);
        parts.push(Pending::Write { offset: at, data: data[start..end].to_owned() });
        start = end;
    }
    parts
}

fn apply(content: &mut Vec<u8>, change: &Pending) {
    match change {
        Pending::Resize(size) => content.resize(*size, 0),
        Pending::Write { offset, data } => {
            let end = offset + data.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*offset..end].copy_from_slice(data);
        }
    }
}
