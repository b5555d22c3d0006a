//! The consent page of a fake. It has the same design on every fake, names the platform, and states
//! that it is a fake. The real page requests the same consent in the design of the platform.

/// `name` is the platform's name in the registry, `content` the HTML of the form.
pub(crate) fn page(name: &str, content: &str) -> String {
    let title = platforms::platform_infos().iter().find(|it| it.name == name).map_or(name, |it| it.title);
    format!(
        "<!DOCTYPE html>\n\
         <html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Allow access? · Fake of {title}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<h1>Fake of {title}</h1>\n\
         <p>This page imitates {title} on your own machine. Nothing that you allow here reaches {title}.</p>\n\
         {content}\n</main>\n</body>\n</html>\n"
    )
}

const STYLE: &str = "\
    body{margin:0;font:1rem/1.5 system-ui,sans-serif}\
    main{max-width:32rem;margin:0 auto;padding:1rem;overflow-wrap:anywhere}\
    h1{font-size:1.5rem;line-height:1.2}\
    fieldset{border:0;margin:0 0 1rem;padding:0}\
    legend{font-weight:650;padding:0}\
    label{display:flex;gap:.75rem;padding:.6rem 0;cursor:pointer}\
    form{display:inline-block;margin:0 .75rem .75rem 0}\
    button,input[type=submit]{font:inherit;min-height:2.75rem;padding:.25rem 1.25rem;margin:0 .75rem .75rem 0;\
    white-space:normal;cursor:pointer}";

/// Escapes a text for HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_page_names_platform_and_fake() {
        let page = page("linkedin", "<form></form>");
        for part in
            ["<h1>Fake of LinkedIn</h1>", "Allow access? · Fake of LinkedIn", "lang=\"en\"", "width=device-width"]
        {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }
}
