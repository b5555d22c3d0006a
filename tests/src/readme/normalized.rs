//! Outputs without what differs from run to run.

/// In place of an id, time, token or address of a file.
const VARIES: &str = "#";

/// Ids, times and tokens are replaced, and runs of spaces and dashes collapsed.
pub fn normalized(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for it in text.trim().chars().chain(['\n']) {
        if it.is_alphanumeric() || "_:.+-".contains(it) {
            word.push(it);
            continue;
        }
        out.push_str(if is_variable(&word) { VARIES } else { &word });
        word.clear();
        if !(it == ' ' && out.ends_with([' ', '\n'])) {
            out.push(it);
        }
    }
    let lines: Vec<_> = out.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}

/// An id, a time, a token, or a number of four digits or more.
fn is_variable(word: &str) -> bool {
    let count = |is: fn(&char) -> bool| word.chars().filter(is).count();
    let has_mixed_case = 0 < count(char::is_ascii_uppercase) && 0 < count(char::is_ascii_lowercase);
    let is_user_code = word.len() == 9 && word.split('-').all(|it| it.len() == 4 && it == it.to_uppercase());
    4 <= count(char::is_ascii_digit) || 20 <= word.len() && has_mixed_case || is_user_code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_times_and_tokens_are_replaced() {
        let text = "Post 374225796610517 at 2026-11-23 10:48:42 +00:00, code WDJB-MJHT, sp_001iP18OjVs7jURiWD6XfG29z";
        assert_eq!(normalized(text), "Post # at # # #, code #, #");
    }

    #[test]
    fn words_and_small_numbers_stay() {
        assert_eq!(
            normalized("{\"max\": 300,  \"type\": \"image/png\"}\n\n"),
            "{\"max\": 300, \"type\": \"image/png\"}"
        );
    }
}
