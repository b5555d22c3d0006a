/// The character of an entity, given without `&` and `;`: a numeric reference, or one of the most
/// common names.
pub(crate) fn letter(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']);
        let number = hex.map_or_else(|| number.parse().ok(), |it| u32::from_str_radix(it, 16).ok())?;
        return char::from_u32(number);
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "middot" => '·',
        "copy" => '©',
        _ => return None,
    })
}
