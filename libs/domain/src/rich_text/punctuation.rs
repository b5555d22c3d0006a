/// Whether this is punctuation, which at the end of a word belongs to the sentence. Symbols that
/// words may end with, such as `+`, are not.
pub fn is_punctuation(letter: char) -> bool {
    matches!(letter,
        '!'..='#' | '%'..='*' | ','..='/' | ':' | ';' | '?' | '@' | '['..=']' | '_' | '{' | '}'
        | '¡' | '§' | '«' | '¶' | '·' | '»' | '¿'
        // Greek, Armenian, Hebrew, Arabic, Indic, Thai, Tibetan, Ethiopic, Khmer.
        | '\u{37e}' | '\u{387}' | '\u{55a}'..='\u{55f}' | '\u{589}' | '\u{58a}'
        | '\u{5be}' | '\u{5c0}' | '\u{5c3}' | '\u{5c6}' | '\u{5f3}' | '\u{5f4}'
        | '\u{60c}' | '\u{60d}' | '\u{61b}' | '\u{61e}' | '\u{61f}' | '\u{66a}'..='\u{66d}' | '\u{6d4}'
        | '\u{964}' | '\u{965}' | '\u{e4f}' | '\u{e5a}' | '\u{e5b}' | '\u{f0b}'..='\u{f12}'
        | '\u{1361}'..='\u{1368}' | '\u{17d4}'..='\u{17d6}'
        // Dashes, quotes and dots of many scripts; those of East Asia, wide and narrow.
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}'
        | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{30fb}'
        | '\u{fe10}'..='\u{fe19}' | '\u{fe30}'..='\u{fe52}'
        | '！'..='＃' | '％'..='＊' | '，'..='／' | '：' | '；' | '？' | '＠' | '［'..='］' | '＿' | '｛' | '｝'
        | '\u{ff5f}'..='\u{ff65}')
}
