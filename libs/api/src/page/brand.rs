//! The operator's brand on the pages of connect links, which customers of users see.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use url::Url;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Brand {
    /// By default the name of this service.
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    logo: Option<Logo>,
    /// The background of the main buttons.
    #[serde(default)]
    color: Option<Color>,
}

/// Https, or a path of this service.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Logo(String);

/// Red, green and blue, written as `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Color([u8; 3]);

const DEFAULT_NAME: &str = "Social Publishing";
const DEFAULT_LOGO: &str = "/assets/icon.svg";

impl Brand {
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(DEFAULT_NAME)
    }

    pub fn logo(&self) -> &str {
        self.logo.as_ref().map_or(DEFAULT_LOGO, |it| it.0.as_str())
    }

    /// A style sheet with the color, and black or white for text on it, whichever has more contrast.
    pub fn style_sheet(&self) -> String {
        let Some(color) = self.color else { return String::new() };
        format!(":root {{ --brand: {color}; --brand-ink: {}; }}\n", color.ink())
    }
}

impl Color {
    /// Black and white have the same contrast to a color of this luminance: 4.6 (WCAG 2.2).
    const BALANCED: f64 = 0.179;

    fn ink(self) -> Self {
        if self.luminance() < Self::BALANCED { Self([255; 3]) } else { Self([0; 3]) }
    }

    /// The relative luminance of WCAG 2.2, from 0 for black to 1 for white.
    fn luminance(self) -> f64 {
        let linear = |it: u8| {
            let share = f64::from(it) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl<'de> Deserialize<'de> for Color {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(deserializer)?;
        let digits = raw.strip_prefix('#').filter(|it| it.len() == 6 && it.bytes().all(|it| it.is_ascii_hexdigit()));
        let number = digits.and_then(|it| u32::from_str_radix(it, 16).ok());
        let [_, color @ ..] = number.ok_or_else(|| de::Error::custom("color must be like #256660"))?.to_be_bytes();
        Ok(Self(color))
    }
}

impl<'de> Deserialize<'de> for Logo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(deserializer)?;
        let is_own_path = raw.starts_with('/') && !raw.starts_with("//");
        let is_https = Url::parse(&raw).is_ok_and(|it| it.scheme() == "https");
        if is_own_path || is_https { Ok(Self(raw)) } else { Err(de::Error::custom("logo must be an https URL")) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn text_on_the_color_of_a_brand_is_legible() {
        for color in ["#000000", "#256660", "#767676", "#ff0000", "#ffd400", "#ffffff"] {
            let Color(ink) = from_value::<Color>(json!(color)).unwrap().ink();
            let (light, dark) = (from_value::<Color>(json!(color)).unwrap().luminance(), Color(ink).luminance());
            let contrast = (light.max(dark) + 0.05) / (light.min(dark) + 0.05);
            assert!(4.5 < contrast, "{color}: {contrast}");
        }
    }

    #[test]
    fn brand_cannot_add_rules_or_other_origins_by_its_values() {
        let brand: Brand = from_value(json!({"name": "Acme", "color": "#0A7cff"})).unwrap();
        assert_eq!((brand.name(), brand.logo()), ("Acme", DEFAULT_LOGO));
        assert_eq!(brand.style_sheet(), ":root { --brand: #0a7cff; --brand-ink: #000000; }\n");
        for wrong in [
            json!({"color": "red"}),
            json!({"color": "#12345é"}),
            json!({"color": "#fff;} body {"}),
            json!({"logo": "http://a.example/logo.png"}),
            json!({"logo": "//a.example/logo.png"}),
            json!({"logo": "data:image/png;base64,AAAA"}),
            json!({"shade": "#ffffff"}),
        ] {
            assert!(from_value::<Brand>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
