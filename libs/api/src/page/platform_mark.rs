//! A round badge with two letters, next to the title of a platform.

use askama::Template;

/// Decorative, so screen readers skip the mark. The stylesheet has the color of each platform, and
/// its letters where they are not the first two of its name.
///
/// ```text
/// {{ account.mark|safe }} {{ account.platform }}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(
    source = r#"<span class="mark mark-{{ name }}" data-letters="{{ letters }}" aria-hidden="true"></span>"#,
    ext = "html"
)]
pub struct PlatformMark {
    name: String,
    letters: String,
}

impl PlatformMark {
    /// `platform` is its name, not its title.
    pub fn new(platform: &str) -> Self {
        let mut letters = platform.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        Self { name: platform.to_owned(), letters: first.chain(letters.next()).collect() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic here is the failing assertion")]

    use super::super::assets::STYLE;
    use super::*;

    #[test]
    fn platform_without_a_style_has_the_letters_of_its_name() {
        let mark = PlatformMark::new("myspace").to_string();
        assert!(mark.contains("mark-myspace") && mark.contains("data-letters=\"My\""), "{mark}");
        assert!(mark.ends_with("aria-hidden=\"true\"></span>"), "{mark}");
        assert!(PlatformMark::new("x").to_string().contains("data-letters=\"X\""));
        assert!(!PlatformMark::new("<b>\"").to_string().contains("<b>"));
    }

    /// WCAG 2.2, success criterion 1.4.3. The colors are the same in light and dark.
    #[test]
    fn white_letters_have_enough_contrast_on_every_color() {
        let colors: Vec<_> = STYLE.split("--mark: #").skip(1).map(|it| &it[..6]).collect();
        assert!(1 < colors.len());
        for color in colors {
            let contrast = 1.05 / (luminance(color) + 0.05);
            assert!(4.5 <= contrast, "#{color}: {contrast:.2}");
        }
    }

    fn luminance(color: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
    }
}
