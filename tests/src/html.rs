//! The part of HTML that a user without scripts needs: forms, buttons, links.

/// With the text up to the next tag.
#[derive(Debug, Clone, Default)]
pub struct Tag {
    /// Lower case; a closing tag starts with `/`.
    pub name: String,
    /// In order, names in lower case, values unescaped.
    pub attributes: Vec<(String, String)>,
    /// Up to the next tag.
    pub text: String,
}

impl Tag {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn owned(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }
}

pub fn tags(html: &str) -> Vec<Tag> {
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let (inside, after) = split_tag(rest);
        let text = after.split('<').next().unwrap_or_default();
        let mut tag = read_tag(inside);
        text.clone_into(&mut tag.text);
        tag.text = unescape(&tag.text);
        found.push(tag);
        rest = after;
    }
    found
}

/// The end of a tag is the first `>` outside of quotes.
fn split_tag(rest: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, it) in rest.char_indices() {
        match (quote, it) {
            (None, '>') => return (&rest[..at], &rest[at + 1..]),
            (None, '"' | '\'') => quote = Some(it),
            (Some(open), it) if open == it => quote = None,
            _ => {}
        }
    }
    (rest, "")
}

fn read_tag(inside: &str) -> Tag {
    let inside = inside.trim().trim_end_matches('/');
    let (name, mut rest) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        }
        let end = rest.find(|it: char| it == '=' || it.is_whitespace()).unwrap_or(rest.len());
        let key = rest[..end].to_lowercase();
        rest = rest[end..].trim_start();
        let Some(value) = rest.strip_prefix('=') else {
            attributes.push((key, String::new()));
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            _ => value.split_once(char::is_whitespace).unwrap_or((value, "")),
        };
        attributes.push((key, unescape(value)));
        rest = after;
    }
    Tag { name: name.to_lowercase(), attributes, text: String::new() }
}

/// Only the character references that templates write.
pub fn unescape(text: &str) -> String {
    let mut unescaped = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        unescaped.push_str(&rest[..at]);
        rest = &rest[at..];
        let reference = rest.find(';').filter(|end| *end < 9).map(|end| (&rest[1..end], end));
        if let Some((it, end)) = reference.and_then(|(name, end)| Some((character(name)?, end))) {
            unescaped.push(it);
            rest = &rest[end + 1..];
        } else {
            unescaped.push('&');
            rest = &rest[1..];
        }
    }
    unescaped.push_str(rest);
    unescaped
}

fn character(name: &str) -> Option<char> {
    let number = |digits: &str, radix| char::from_u32(u32::from_str_radix(digits, radix).ok()?);
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match name.strip_prefix("#x") {
            Some(hex) => number(hex, 16),
            None => number(name.strip_prefix('#')?, 10),
        },
    }
}

#[derive(Debug, Clone, Default)]
pub struct Form {
    /// As written, possibly relative.
    pub action: String,
    /// `get` or `post`.
    pub method: String,
    pub fields: Vec<Field>,
    pub buttons: Vec<Button>,
}

/// Radio buttons of one name are one field.
#[derive(Debug, Clone, Default)]
pub struct Field {
    pub name: String,
    /// The type of an input, or `select`, or `textarea`.
    pub kind: String,
    /// Sent without user input; `None` sends nothing.
    pub value: Option<String>,
    pub options: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Button {
    pub label: String,
    /// The name and value of a pressed button.
    pub sends: Option<(String, String)>,
    /// If it differs from the form's.
    pub action: Option<String>,
}

pub fn forms(html: &str) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    let mut open = false;
    let mut in_button = false;
    for tag in tags(html) {
        match tag.name.as_str() {
            "form" => {
                let method = tag.get("method").unwrap_or("get").to_lowercase();
                forms.push(Form { action: tag.owned("action"), method, ..Form::default() });
                open = true;
            }
            "/form" => open = false,
            "/button" => in_button = false,
            _ => {}
        }
        let Some(form) = forms.last_mut().filter(|_| open) else {
            continue;
        };
        match tag.name.as_str() {
            "button" => {
                in_button = true;
                form.buttons.push(button(&tag, tag.text.clone()));
            }
            "input" if matches!(tag.get("type"), Some("submit")) => {
                form.buttons.push(button(&tag, tag.owned("value")));
            }
            "input" | "select" | "textarea" => add_field(form, &tag),
            "option" => add_option(form, &tag),
            _ if in_button => {
                if let Some(button) = form.buttons.last_mut() {
                    button.label = format!("{} {}", button.label, tag.text);
                }
            }
            _ => {}
        }
    }
    for button in forms.iter_mut().flat_map(|it| &mut it.buttons) {
        button.label = button.label.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    forms
}

fn button(tag: &Tag, label: String) -> Button {
    let sends = tag.get("name").map(|name| (name.to_owned(), tag.owned("value")));
    Button { label, sends, action: tag.get("formaction").map(ToOwned::to_owned) }
}

fn add_field(form: &mut Form, tag: &Tag) {
    let (name, value) = (tag.owned("name"), tag.owned("value"));
    let kind = if tag.name == "input" { tag.get("type").unwrap_or("text").to_owned() } else { tag.name.clone() };
    match kind.as_str() {
        "radio" => {
            let known = form.fields.iter().position(|it| it.name == name);
            let at = known.unwrap_or_else(|| {
                form.fields.push(Field { name, kind, ..Field::default() });
                form.fields.len() - 1
            });
            form.fields[at].options.push(value.clone());
            if tag.has("checked") {
                form.fields[at].value = Some(value);
            }
        }
        "checkbox" => {
            let sent = if value.is_empty() { "on".to_owned() } else { value };
            let value = tag.has("checked").then(|| sent.clone());
            form.fields.push(Field { name, kind, value, options: vec![sent] });
        }
        "select" => form.fields.push(Field { name, kind, ..Field::default() }),
        "textarea" => {
            // The first line break is not part of the value.
            let text = tag.text.strip_prefix('\n').unwrap_or(&tag.text).to_owned();
            form.fields.push(Field { name, kind, value: Some(text), options: Vec::new() });
        }
        _ => form.fields.push(Field { name, kind, value: Some(value), options: Vec::new() }),
    }
}

fn add_option(form: &mut Form, tag: &Tag) {
    let Some(field) = form.fields.last_mut().filter(|it| it.kind == "select") else {
        return;
    };
    let value = tag.get("value").map_or_else(|| tag.text.trim().to_owned(), ToOwned::to_owned);
    field.options.push(value.clone());
    if tag.has("selected") || field.value.is_none() {
        field.value = Some(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_is_parsed_with_fields_and_buttons() {
        let html = r#"<!-- <form> --><form method="POST" action="/a?b=1&amp;c=2"><input type=hidden name=csrf value="x&#x2f;y">
            <label><input type="radio" name="account" value="ada"> Ada</label><input type="radio" name="account" value="ben" checked>
            <button name="decision" value="yes"><b>Allow</b> it</button></form>"#;

        let forms = forms(html);

        assert_eq!(forms.len(), 1);
        assert_eq!((forms[0].method.as_str(), forms[0].action.as_str()), ("post", "/a?b=1&c=2"));
        assert_eq!(forms[0].fields[0].value.as_deref(), Some("x/y"));
        assert_eq!(forms[0].fields[1].options, ["ada", "ben"]);
        assert_eq!(forms[0].fields[1].value.as_deref(), Some("ben"));
        assert_eq!(forms[0].buttons[0].label, "Allow it");
        assert_eq!(forms[0].buttons[0].sends, Some(("decision".to_owned(), "yes".to_owned())));
    }
}
