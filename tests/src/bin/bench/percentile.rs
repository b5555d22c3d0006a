/// The smallest value that `percent` of the values do not exceed; the default for an empty list.
pub(crate) fn percentile<T: Copy + Default>(sorted: &[T], percent: usize) -> T {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}
